// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import NIOHTTP1
import OptimistCore
import OptimistPostgres
import OptimistServer
import OptimistWire

/// Imports rows from a file.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import rows from a file into the accounts of their users.",
        discussion: """
            The file has one row in each line: JSON objects (.jsonl), or CSV with the names of the columns in its first \
            line (.csv). The file must be UTF-8. \
            Rows merge by the rules of the server, as if a device had written them at --as-of. \
            Rows that break a rule are listed with their lines, and the others are stored. If several lines have the \
            same id and account, only the first counts. An import that was interrupted is started again: it begins at \
            the first line, and rows that are stored already do not change.

            A row without an id, or with an id that is not a UUID, gets a UUID that is always the same for the same \
            row. References use the same ids as the file. The server may keep running.
            """)
    @Argument(help: ArgumentHelp("The file, .jsonl or .csv.", valueName: "file"))
    var file: String
    @Option(help: ArgumentHelp("The type of the rows.", valueName: "type"))
    var type: String
    @Option(
        help: ArgumentHelp(
            "How the file names the account of a row: by email, by the subject of an identity, or by the account's id.",
            valueName: "email|identity|column"),
        transform: { text in
            guard let key = ImportBatch.AccountKey(rawValue: text) else {
                throw ValidationError("--account-from must be email, identity or column.")
            }
            return key
        })
    var accountFrom: ImportBatch.AccountKey
    @Option(help: ArgumentHelp("The column that names the account.", valueName: "name"))
    var accountColumn = "account"
    @Option(help: ArgumentHelp("The column with the row's id.", valueName: "name"))
    var idColumn = "id"
    @Option(help: ArgumentHelp("The issuer of the identities, with --account-from identity.", valueName: "url"))
    var issuer: String?
    @Option(
        help: ArgumentHelp(
            "When the rows were exported, such as 2026-11-28T10:00:00Z. Later edits win over the file.",
            discussion: "Default: when the file was last changed.", valueName: "time"),
        transform: { text in
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw ValidationError("--as-of must be a time such as 2026-11-28T10:00:00Z.")
            }
            return date
        })
    var asOf: Date?
    @Flag(help: "Store nothing, and list the rows that break a rule.")
    var dryRun = false
    @OptionGroup var options: PlaceOptions
    @OptionGroup var shared: DatabaseOptions

    func validate() throws {
        guard (accountFrom == .identity) == (issuer != nil) else {
            throw ValidationError("--account-from identity needs --issuer, and nothing else does.")
        }
        guard accountColumn != idColumn else {
            throw ValidationError("--account-column and --id-column must differ.")
        }
    }

    func run() async throws {
        switch try options.place {
        case .database(let url):
            let database = shared.database(url)
            try await explainingErrors(of: "import", at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.import"))
                try await opening.importing(shared.readSecret()) { rows in
                    try await send { try await rows.carryOut($0) }
                }
            }
        case .directory(let directory):
            try await explainingErrors(of: "import", at: directory.path) {
                let storage: OpenedStorage
                do { storage = try AccountOffice.open(directory) } catch let error as OptimistError
                    where error.code == .dataInUse
                {
                    let socket = AccountOffice.socket(at: directory)
                    return try await send { try await Self.ask(socket, $0) }
                }
                defer { storage.close() }
                guard let schema = try RememberedSchema.read(in: directory) else {
                    throw OptimistError.noServedSchema(at: directory.path)
                }
                let rows = RowImport(into: storage, schema: schema)
                try await send { try await rows.carryOut($0) }
            }
        }
    }

    /// Reads the file to its end, and prints the report. Reads the next batch while a batch is stored. If the rest of the
    /// file cannot be read, the lines before are stored.
    private func send(_ carryOut: @Sendable (ImportBatch) async throws -> ImportReport) async throws {
        let file = try ImportFile(path: file, accountColumn: accountColumn)
        let empty = ImportBatch(
            run: UUID().uuidString, type: type, accountKey: accountFrom, issuer: issuer, accountColumn: accountColumn,
            idColumn: idColumn,
            milliseconds: try asOf.map { Int64($0.timeIntervalSince1970 * 1000) } ?? file.modifiedMilliseconds,
            isDryRun: dryRun, isText: file.format == .csv)
        var reader = ImportReader(file, empty)
        var total = ImportReport()
        var refused = 0
        // The type of an empty file is also checked.
        var batch = reader.next()
        if batch.lines.isEmpty, let trouble = reader.trouble { throw trouble }
        repeat {
            let present = batch
            async let stored = carryOut(present)
            batch = reader.next()
            let report = try await stored
            for row in report.refused { say("line \(row.line): \(row.code): \(row.message)".shown()) }
            total.add(report)
            refused += report.refused.count
        } while !batch.lines.isEmpty
        say(summary(total, refused: refused))
        if let trouble = reader.trouble { throw trouble }
        if refused > 0 { throw ExitCode.failure }
    }

    private func summary(_ total: ImportReport, refused: Int) -> String {
        var parts = [
            "\(total.written) rows \(dryRun ? "would be written" : "written")", "\(total.unchanged) unchanged",
        ]
        if total.gone > 0 { parts.append("\(total.gone) left as deleted, merged or moved") }
        if total.waiting > 0 { parts.append("\(total.waiting) refer to rows that the server does not have yet") }
        return (parts + ["\(refused) refused"]).joined(separator: ", ") + "."
    }

    /// Sends a batch to the server that has locked the directory.
    private static func ask(_ socket: URL, _ batch: ImportBatch) async throws -> ImportReport {
        let (status, body) = try await ControlRequest.post("imports", JSONEncoder().encode(batch), to: socket)
        guard status == .ok else {
            let message = (try? JSON(parsing: body))?["error"]?.string
            throw OptimistError(.badImport, message ?? "The server does not know this command.")
        }
        return try JSONDecoder().decode(ImportReport.self, from: Data(body))
    }
}
