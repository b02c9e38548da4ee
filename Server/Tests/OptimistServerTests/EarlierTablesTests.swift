// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistServing
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// Data of earlier versions of the server: an account with one session and one row, and from the third version on a deleted
/// account.
@Suite(.timeLimit(.minutes(20)))
struct EarlierTablesTests {
    private let site = Site()

    private static func fixture(_ name: String, _ ending: String) throws -> URL {
        try #require(Bundle.module.url(forResource: name, withExtension: ending, subdirectory: "Fixtures"))
    }

    /// Opens a server on the data, and looks for all that was in it.
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

    @Test(.embedded, arguments: 2...5)
    func `a file of an earlier version is taken on with its account, session and row`(version: Int) async throws {
        try site.makeDirectory()
        try FileManager.default.copyItem(at: Self.fixture("server-\(version)", "sqlite"), to: site.file)
        try await takesOn()
    }

    @Test(.embedded, arguments: 1...5)
    func `the tables of an earlier version's file become those of a new one`(version: Int) async throws {
        try site.makeDirectory()
        try FileManager.default.copyItem(at: Self.fixture("server-\(version)", "sqlite"), to: site.file)
        let other = Site()
        try other.makeDirectory()
        #expect(try tables(of: site.file) == tables(of: other.file))
    }

    private func tables(of file: URL) throws -> [String] {
        // Views are those of the schema that was served last.
        let sql = """
            SELECT format('%s %d %s %s %d %s %d', m.name, c.cid, c.name, c.type, c."notnull", c.dflt_value, c.pk)
            FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
            UNION ALL SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1
            """
        return try ServerDatabase(path: file.path, epoch: "e", day: 20_000).pool.read {
            try String.fetchAll($0, sql: sql)
        }
    }

    // MARK: - Databases

    @Test(.postgres, arguments: 1...3)
    func `a database of an earlier version is taken on with its account, session and row`(version: Int) async throws {
        try load(version, into: try #require(site.database))
        try await takesOn()
    }

    @Test(.postgres, arguments: 1...3)
    func `the tables of an earlier version's database become those of a new one`(version: Int) async throws {
        let (earlier, new) = (try SharedDatabase.make(), try SharedDatabase.make())
        try load(version, into: earlier)
        #expect(try await tables(of: earlier) == tables(of: new))
    }

    @Test(.postgres) func `O8 an export and the health of an app leave the tables of an earlier version as they are`()
        async throws
    {
        let database = try SharedDatabase.make()
        try load(3, into: database)
        let opening = PostgresOpening(database: database, logger: SharedDatabase.quiet)
        let export = await #expect(throws: OptimistError.self) { try await opening.export("ann@example.org") { _ in } }
        #expect(export?.message.contains("--migrate-only") == true)
        await #expect(throws: OptimistError.self) { _ = try await opening.healthSums(of: nil) }
        let found = try PostgresConnection(database.url).query(SharedStatement.setting, [.text("version")])
        #expect(found.texts == ["3"])
        try await opening.migrate()
        #expect(try await opening.healthSums(of: nil).versions.map(\.launches) == [5])
    }

    private func load(_ version: Int, into database: PostgresDatabase) throws {
        let script = try String(contentsOf: Self.fixture("postgres-\(version)", "sql"), encoding: .utf8)
        try PostgresConnection(database.url).script(script)
    }

    /// The columns and indexes, with the tables brought up to date.
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
