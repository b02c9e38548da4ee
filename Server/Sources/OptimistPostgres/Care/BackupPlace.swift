// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer

/// Optimist's tables in a database, and the work that PostgreSQL's programs do on them.
struct BackupPlace {
    let schema: String
    let tables: [String]
    private let major: Int

    init(_ connection: PostgresConnection) throws(PostgresError) {
        let found = try connection.query(CareStatement.place)
        schema = found.text(0, 0)
        major = found.int(0, 1)
        let ours = Set(PostgresTables.ofAccounts + PostgresTables.shared)
        tables = try connection.query(CareStatement.tables).texts.filter(ours.contains).sorted()
    }

    func programs(_ program: String, _ database: PostgresDatabase) throws -> ClientPrograms {
        try ClientPrograms(with: program, atLeast: major, ConnectionWords(database.url))
    }

    func counts(_ connection: PostgresConnection) throws(PostgresError) -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in tables { counts[table] = try connection.query(CareQuery(counting: table)).int(0, 0) }
        return counts
    }

    /// Writes the tables of a snapshot to a file that only its owner can read.
    func dump(to file: URL, of snapshot: String, _ programs: ClientPrograms) throws {
        try DurableFile.create(file, [])
        let ended = try programs.connect(
            "pg_dump",
            [
                "--format=custom", "--no-owner", "--no-privileges", "--snapshot=\(snapshot)", "--file=\(file.path)",
            ] + tables.map { "--table=\(quoted(schema)).\(quoted($0))" })
        guard ended.status == 0 else { throw ended.failure(of: "pg_dump", "Nothing was copied.") }
        try DurableFile.sync(file)
    }

    /// Verifies a dump: it must list each table, and have as many rows as the snapshot.
    func readBack(_ dump: URL, _ manifest: BackupManifest, _ programs: ClientPrograms) throws {
        var list = Data()
        let listed = try programs.run("pg_restore", ["--list", dump.path]) { list.append($0) }
        guard listed.status == 0 else { throw listed.failure(of: "pg_restore", "The copy was removed.") }
        let lines = String(decoding: list, as: UTF8.self)
        var rows = DumpedRows()
        let read = try programs.run("pg_restore", ["--data-only", "--file=-", dump.path]) { rows.read($0) }
        guard read.status == 0 else { throw read.failure(of: "pg_restore", "The copy was removed.") }
        guard tables.allSatisfy({ lines.contains(" TABLE \(schema) \($0) ") }), rows.counts == manifest.tables else {
            throw OptimistError(
                .unreadableData, "The backup does not have all rows, so it was removed. Try again.")
        }
    }

    /// Checks the files of the tables and indexes with `pg_amcheck`, if possible.
    func checkFiles(
        _ database: PostgresDatabase, _ connection: PostgresConnection
    ) throws -> (problems: [String], files: SharedCheck.Files) {
        guard try connection.query(CareStatement.hasAmcheck).bool(0, 0) else {
            return ([], .notChecked("A superuser must first run  CREATE EXTENSION amcheck  in the database."))
        }
        let programs: ClientPrograms
        do { programs = try self.programs("pg_amcheck", database) } catch let error as OptimistError
            where error.code == .programMissing
        {
            return ([], .notChecked(error.message))
        }
        var said = Data()
        let ended = try programs.run(
            "pg_amcheck",
            ["--no-password", "--heapallindexed"] + tables.map { "--table=\(quoted(schema)).\(quoted($0))" }
                + [programs.words.argument]
        ) { said.append($0) }
        switch ended.status {
        case 0: return ([], .checked)
        case 2: return (String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init), .checked)
        default: return ([], .notChecked("pg_amcheck reported: \(ended.errors)"))
        }
    }

    /// Quotes prevent the name from being read as a pattern.
    private func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
