// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
package import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import SystemPackage

extension OptimistError.Code {
    /// Views or a report cannot be made as they were ordered.
    package static let badViews = Self("views.bad")
}

/// Copies the living rows of a data directory into a SQLite file for reports, with a table for each type. The file has no
/// passwords, hashes or tokens.
package enum ReportFile {
    /// "OpRp", in the file's header. It identifies a report, so that the next report may replace it.
    private static let applicationID: UInt32 = 0x4F70_5270

    /// Writes the file as of one moment, even while a server runs. Replaces an earlier report at once. Blocks the thread.
    ///
    /// - Returns: The number of rows of each type.
    /// - Throws: `OptimistError` with code `unreadableData` or `schemaConflict`, or `views.bad` if the file cannot be
    ///   written, is in the data directory, or exists and is neither empty nor a report. All files then stay as they are.
    package static func write(_ directory: URL, to file: URL) throws -> [String: Int] {
        try checkReplaceable(file, by: directory)
        let source = try ServerDatabase.openForReading(directory)
        guard let schema = try RememberedSchema.read(in: directory) else {
            throw OptimistError.noServedSchema(at: directory.path)
        }
        let draft = file.deletingLastPathComponent().appending(path: ".\(file.lastPathComponent).draft")
        try? FileManager.default.removeItem(at: draft)
        do {
            PrivateFiles.makeDatabase(at: draft.path)
            let target = try DatabaseQueue(path: draft.path)
            let counts = try source.read { source in
                try target.write { try copy(schema, source, $0) }
            }
            try target.close()
            guard rename(draft.path, file.path) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            return counts
        } catch {
            try? FileManager.default.removeItem(at: draft)
            throw OptimistError(
                .badViews,
                "The report \(file.path) cannot be written: \(reason(error)). An earlier report was not changed.",
                cause: error)
        }
    }

    private static func checkReplaceable(_ file: URL, by directory: URL) throws {
        guard !file.isInside(directory) else {
            throw OptimistError(
                .badViews,
                "\(file.path) is in the data directory \(directory.path). Nothing was changed. Choose a file outside it."
            )
        }
        guard let found = try? Stat(FilePath(file.path)) else { return }
        guard found.type == .regular, found.size == 0 || isReport(file) else {
            throw OptimistError(
                .badViews,
                """
                \(file.path) already exists and is not a report of `optimist views`. It was not changed. Move it away, \
                or choose another file.
                """)
        }
    }

    /// Reads only the header, because SQLite could write files next to the database.
    ///
    /// > Source: SQLite, "Database File Format", 1.3: the application id has four bytes, the first byte is the highest.
    private static func isReport(_ file: URL) -> Bool {
        guard let header = try? FileHandle(forReadingFrom: file).read(upToCount: 72), header.count == 72 else {
            return false
        }
        let mark = header.dropFirst(68).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return header.starts(with: "SQLite format 3\0".utf8) && mark == applicationID
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as DatabaseError: error.message ?? error.resultCode.description
        case let error as POSIXError: String(cString: strerror(error.code.rawValue))
        default: "\(error)"
        }
    }

    private static func copy(_ schema: Schema, _ source: Database, _ target: Database) throws -> [String: Int] {
        try target.execute(sql: "PRAGMA application_id = \(applicationID)")
        var counts: [String: Int] = [:]
        for (type, definition) in schema.types.sorted(by: { $0.key < $1.key }) {
            let columns = ReportColumns(of: definition).columns
            let names =
                [ReportColumns.account, ReportColumns.id, ReportColumns.changed].map { "\($0.sqlName) TEXT" }
                + columns.map { "\($0.shown.sqlName) \($0.type.sqliteType)" }
            try target.execute(
                sql: """
                    CREATE TABLE \(type.sqlName) (\(names.joined(separator: ", ")),
                        PRIMARY KEY (\(ReportColumns.account), \(ReportColumns.id)))
                    """)
            let marks = Array(repeating: "?", count: columns.count + 3).joined(separator: ", ")
            let insert = try target.makeStatement(sql: "INSERT INTO \(type.sqlName) VALUES (\(marks))")
            let rows = try Row.fetchCursor(
                source,
                sql: """
                    SELECT account_id, id, content FROM optimist_rows WHERE type = ? AND generation % 2 = 1
                    ORDER BY account_id, id
                    """, arguments: [type])
            while let row = try rows.next() {
                let (account, id): (String, String) = (row[0], row[1])
                guard let patch = try JSON(parsing: row.bytes(at: 2)).object.flatMap(RowPatch.init(json:)) else {
                    throw StoreError.damagedRow(RowKey(type, id))
                }
                let changed = patch.clocks?.latest.map {
                    Date(timeIntervalSince1970: Double($0.stamp.milliseconds) / 1000).utcText
                }
                let own: [(any DatabaseValueConvertible)?] = [account, id, changed]
                let values = columns.map { $0.type.sqliteValue(patch.values[$0.name] ?? .null) }
                try insert.execute(arguments: StatementArguments(own + values))
                counts[type, default: 0] += 1
            }
        }
        return counts
    }
}

extension ColumnType {
    fileprivate var sqliteType: String {
        switch self {
        case .bool, .int, .int64, .counter: "INTEGER"
        case .number: "REAL"
        case .string, .date, .data, .json, .ref, .blob: "TEXT"
        }
    }

    fileprivate func sqliteValue(_ value: JSON) -> (any DatabaseValueConvertible)? {
        switch (self, value) {
        case (.counter, .null): 0
        case (_, .null): nil
        case (.json, _): value.description
        case (.int64, .string(let text)): Int64(text)
        case (_, .bool(let bool)): bool
        case (_, .int(let int)): int
        case (_, .double(let double)): double
        // SQLite would end the text there.
        case (_, .string(let text)): text.replacing("\0", with: "\u{FFFD}")
        case (_, .array), (_, .object): value.description
        }
    }
}
