// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistServing
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// Data of released versions: an account with one session and one row, and a deleted account.
@Suite(.timeLimit(.minutes(20)))
struct EarlierTablesTests {
    private let site = Site()

    private static func fixture(_ name: String, _ ending: String) throws -> URL {
        try #require(Bundle.module.url(forResource: name, withExtension: ending, subdirectory: "Fixtures"))
    }

    /// Opens a server on the data and checks everything in it.
    private func takesOn() async throws {
        try await site.serving(schema: .projects) { server, http async throws in
            let answer = try await http.post("/auth/sign-in", JSON.entry("ann@example.org", device: "tablet"))
            let tablet = try Person(answer.json)
            #expect(try await server.rows(account: tablet.account, type: "List").count == 1)
            let list = try await http.get("/auth/sessions", token: tablet.access).json["sessions"]?.array ?? []
            #expect(list.count == 2 && list.last?["signedInAt"] == .null)
        }
    }

    // MARK: - Files

    @Test(.embedded, arguments: 1...ServerDatabase.version)
    func `a released version's file opens with its account, session and row`(version: Int) async throws {
        try site.makeDirectory()
        try FileManager.default.copyItem(at: Self.fixture("server-\(version)", "sqlite"), to: site.file)
        try await takesOn()
    }

    @Test(.embedded, arguments: 1...ServerDatabase.version)
    func `a released version's file is migrated to a new file's tables`(version: Int) async throws {
        try site.makeDirectory()
        try FileManager.default.copyItem(at: Self.fixture("server-\(version)", "sqlite"), to: site.file)
        let other = Site()
        try other.makeDirectory()
        #expect(try tables(of: site.file) == tables(of: other.file))
    }

    private func tables(of file: URL) throws -> [String] {
        // Views follow the last schema served.
        let sql = """
            SELECT format('%s %d %s %s %d %s %d', m.name, c.cid, c.name, c.type, c."notnull", c.dflt_value, c.pk)
            FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
            UNION ALL SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1
            """
        return try ServerDatabase(path: file.path, epoch: "e").pool.read { try String.fetchAll($0, sql: sql) }
    }

    private struct Interrupted: Error {}

    @Test func `a file takes all the migration steps it lacks, or none`() throws {
        let db = try DatabaseQueue()
        let step: (Int) -> ServerDatabase.Step = { number in
            { try $0.execute(sql: "ALTER TABLE optimist_settings ADD COLUMN step\(number)") }
        }
        func columns() throws -> [String] { try db.read { try $0.columns(in: "optimist_settings").map(\.name) } }
        try db.write { try ServerDatabase.migrate($0, steps: [step(1)]) }
        let new = try columns()
        #expect(!new.contains("step1"), "a new file has the present tables")
        #expect(throws: Interrupted.self) {
            try db.write { try ServerDatabase.migrate($0, steps: [step(1), step(2), { _ in throw Interrupted() }]) }
        }
        #expect(try columns() == new)
        try db.write { try ServerDatabase.migrate($0, steps: [step(1), step(2), step(3)]) }
        #expect(try columns() == new + ["step2", "step3"])
        #expect(try db.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 4)
    }

    // MARK: - Databases

    @Test(.postgres, arguments: 1...PostgresTables.version)
    func `a released version's database opens with its account, session and row`(version: Int) async throws {
        try load(version, into: try #require(site.database))
        try await takesOn()
    }

    @Test(.postgres, arguments: 1...PostgresTables.version)
    func `a released version's database is migrated to a new database's tables`(version: Int) async throws {
        let (earlier, new) = (try SharedDatabase.make(), try SharedDatabase.make())
        try load(version, into: earlier)
        #expect(try await tables(of: earlier) == tables(of: new))
    }

    @Test(.postgres) func `a database takes all the migration steps it lacks, or none`() throws {
        let connection = try PostgresConnection(try SharedDatabase.make().url)
        let step: (Int) -> String = { "ALTER TABLE optimist_settings ADD COLUMN step\($0) text;" }
        func columns() throws -> [String] {
            let sql = """
                SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()
                AND table_name = 'optimist_settings' ORDER BY ordinal_position
                """
            return try connection.query(SharedDatabase.Statement(sql: sql), []).texts
        }
        try PostgresTables.migrate(connection, steps: [step(1)])
        let new = try columns()
        #expect(!new.contains("step1"), "a new database has the present tables")
        #expect(throws: PostgresError.self) {
            try PostgresTables.migrate(connection, steps: [step(1), step(2), "SELECT 1 / 0;"])
        }
        #expect(try columns() == new)
        try PostgresTables.migrate(connection, steps: [step(1), step(2), step(3)])
        #expect(try columns() == new + ["step2", "step3"])
        #expect(try PostgresTables.found(connection) == 4)
    }

    @Test(.postgres) func `O8 exports and app health do not migrate an earlier version's tables`()
        async throws
    {
        let database = try SharedDatabase.make()
        try load(1, into: database)
        let connection = try PostgresConnection(database.url)
        let setVersion = SharedStatement.keepSetting
        _ = try connection.query(setVersion, [.text("version"), .text("0")])
        let opening = PostgresOpening(database: database, logger: SharedDatabase.quiet)
        let export = await #expect(throws: OptimistError.self) {
            try await opening.export(.account(email: "ann@example.org")) { _ in }
        }
        #expect(export?.message.contains("--migrate-only") == true)
        await #expect(throws: OptimistError.self) { _ = try await opening.healthSums(of: nil) }
        #expect(try PostgresTables.found(connection) == 0)
        _ = try connection.query(setVersion, [.text("version"), .text("1")])
        try await opening.migrate()
        #expect(try await opening.healthSums(of: nil).versions.map(\.launches) == [5])
    }

    private func load(_ version: Int, into database: PostgresDatabase) throws {
        let script = try String(contentsOf: Self.fixture("postgres-\(version)", "sql"), encoding: .utf8)
        try PostgresConnection(database.url).script(script)
    }

    /// The columns and indexes after migration.
    private func tables(of database: PostgresDatabase) async throws -> [String] {
        try await PostgresOpening(database: database, logger: SharedDatabase.quiet).migrate()
        let sql = """
            SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, column_default,
                collation_name) FROM information_schema.columns WHERE table_schema = current_schema()
            UNION ALL SELECT replace(indexdef, current_schema() || '.', '') FROM pg_indexes WHERE schemaname = current_schema()
            ORDER BY 1
            """
        return try PostgresConnection(database.url).query(SharedDatabase.Statement(sql: sql), []).texts
    }
}
