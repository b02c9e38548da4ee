// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// Backup, restore and check of a database.
@Suite(.postgres, .timeLimit(.minutes(20)))
struct SharedCareTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-care-\(UUID().uuidString)")
    private let database: PostgresDatabase
    private let opening: PostgresOpening

    init() throws {
        database = try SharedDatabase.make()
        opening = PostgresOpening(database: database, logger: SharedDatabase.quiet)
    }

    private var connection: PostgresConnection { get throws { try PostgresConnection(database.url) } }

    private func serve() async throws -> OptimistServer {
        var configuration = ServerConfiguration(
            port: 0, storage: .postgres(database, secret: try ServerKeys(secret: SharedDatabase.secret)),
            schema: .projects, logger: SharedDatabase.quiet)
        configuration.passwordCost = .trivial
        configuration.workBudget = .unlimited
        return try await OptimistServer(configuration: configuration)
    }

    /// Starts a server and fills its database with a person's rows, one of them deleted.
    private func fill() async throws -> (server: OptimistServer, person: Person) {
        let server = try await serve()
        let person = try await server.signUp("a@example.org")
        let rows = (0..<300).map { number -> JSONObject.Member in
            (
                RowKey.todo(number).id,
                ["content": .string("a\tb\nc \\. é\(number)"), "listId": .string(RowKey.list(1).id)]
            )
        }
        _ = try await server.call(
            person,
            [
                ("List/set", ["create": [RowKey.list(1).id: ["name": "L"]]]),
                ("Todo/set", ["create": .object(JSONObject(rows))]),
            ], push: 1)
        _ = try await server.call(person, "Todo/set", ["destroy": [.string(RowKey.todo(5).id)]])
        return (server, person)
    }

    private func backUp(_ name: String) async throws -> SharedBackupReport {
        try await opening.backUp(to: folder.appending(path: name)) { _ in }
    }

    /// Drops all tables.
    private func empty() throws {
        let connection = try connection
        let schema = try connection.query(CareStatement.place).text(0, 0)
        try connection.script("DROP SCHEMA \(schema) CASCADE; CREATE SCHEMA \(schema)")
    }

    private func refusal(_ work: () async throws -> Void) async -> OptimistError? {
        do { try await work() } catch { return error as? OptimistError }
        return nil
    }

    private func remove() { try? FileManager.default.removeItem(at: folder) }

    @Test func `O6 O11 a backup is read back, and restored only into an empty database, where a new epoch begins`()
        async throws
    {
        defer { remove() }
        let (server, person) = try await fill()
        let done = try await backUp("copy")
        #expect(done.accounts == 1 && done.rows == 301 && done.bytes > 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "copy").path)
        #expect(Set(names) == ["backup.json", "optimist.dump"])
        for name in names + ["."] {
            let file = folder.appending(path: "copy").appending(path: name)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode.map { $0 & 0o077 } == 0, "\(name)")
        }
        let epoch = server.epoch
        _ = try await server.call(person, "Todo/set", ["destroy": [.string(RowKey.todo(6).id)]], push: 3)
        #expect(await refusal { _ = try await opening.restore(folder.appending(path: "copy")) }?.code == .dataInUse)
        server.storage.close()
        try empty()
        let restored = try await opening.restore(folder.appending(path: "copy"))
        #expect(restored.accounts == 1 && restored.rows == 301)
        #expect(try await opening.check().problems == [])
        let again = try await serve()
        defer { again.storage.close() }
        #expect(again.epoch != epoch)
        let rows = try await again.rows(account: person.account, type: "Todo", limit: 1_000)
        #expect(rows.count == 299)
        #expect(try await again.registry.identify(person.access).account == person.account)
    }

    @Test func `O6 a check names a foreign trigger, which is neither backed up nor restored`() async throws {
        defer { remove() }
        try await fill().server.storage.close()
        try connection.script(
            """
            CREATE FUNCTION thief() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER thief AFTER INSERT ON optimist_sessions FOR EACH ROW EXECUTE FUNCTION thief()
            """)
        let named = "The database has a trigger that the server did not create: thief."
        #expect(try await opening.check().problems == [named])
        let refused = await refusal { _ = try await backUp("copy") }
        #expect(refused?.code == .unreadableData && refused?.message.contains(named) == true)
    }

    @Test func `O6 a damaged dump is not restored, and a directory's backup is recognized as such`() async throws {
        defer { remove() }
        try await fill().server.storage.close()
        _ = try await backUp("copy")
        try empty()
        let dump = folder.appending(path: "copy/optimist.dump")
        let handle = try FileHandle(forUpdating: dump)
        try handle.seek(toOffset: 2_000)
        try handle.write(contentsOf: Data("damage".utf8))
        try handle.close()
        let damaged = await refusal { _ = try await opening.restore(folder.appending(path: "copy")) }
        #expect(damaged?.code == .unreadableData && damaged?.message.contains("is damaged") == true)
        #expect(try connection.query(CareStatement.tables).count == 0)
        try FileManager.default.createDirectory(
            at: folder.appending(path: "other"), withIntermediateDirectories: true)
        try Data().write(to: folder.appending(path: "other/optimist.sqlite"))
        let other = await refusal { _ = try await opening.restore(folder.appending(path: "other")) }
        #expect(other?.message.contains("optimist copy") == true)
        let none = await refusal { _ = try await opening.backUp(to: folder.appending(path: "none")) { _ in } }
        #expect(none?.message.contains("does not contain the data of a server") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "none").path))
    }

    @Test func `O7 a check names rows that contradict each other, cannot be read, or lack an index entry`() async throws
    {
        defer { remove() }
        try await fill().server.storage.close()
        #expect(try await opening.check().problems == [])
        let (gone, extra, broken) = (RowKey.todo(7).id, RowKey.todo(8).id, RowKey.todo(9).id)
        try connection.script(
            """
            DELETE FROM optimist_index WHERE id = '\(gone)';
            UPDATE optimist_index SET key = 'other' WHERE id = '\(extra)';
            UPDATE optimist_rows SET content = 'no JSON' WHERE id = '\(broken)';
            UPDATE optimist_rows SET seq = 99 WHERE id = '\(RowKey.todo(10).id)';
            INSERT INTO optimist_index SELECT account_id, 'Todo', 'i', 'k', 'nowhere' FROM optimist_accounts;
            """)
        let problems = try await opening.check().problems
        for (sentence, id) in [
            ("An index lacks a row", gone), ("An index lacks a row", extra), ("cannot be read", broken),
            ("later than its account's last write", RowKey.todo(10).id), ("An index names a row", "nowhere"),
        ] { #expect(problems.contains { $0.contains(sentence) && $0.hasSuffix("\(id).") }, "\(sentence): \(problems)") }
        #expect(problems.count == 5)
        let refused = await refusal { _ = try await backUp("unsound") }
        #expect(refused?.message.contains("not sound") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "unsound").path))
    }
}

/// The parts that need no database.
struct SharedCareValuesTests {
    @Test func `rows in a dump are counted by table, whatever they contain`() {
        var rows = DumpedRows()
        let text = """
            --
            -- Data
            COPY public.optimist_rows (account_id, content) FROM stdin;
            a\tCOPY public.optimist_index (x) FROM stdin;
            a\t\\\\.
            b\t\(String(repeating: "x", count: 5_000))
            \\.

            COPY "my schema".optimist_epochs (number) FROM stdin;
            \\.
            COPY public.others (number) FROM stdin;
            """
        for byte in text.utf8 { rows.read([byte]) }
        rows.read("\n".utf8)
        #expect(rows.counts == ["optimist_rows": 3, "optimist_epochs": 0])
    }

    @Test func `O2 a password is passed to programs in the environment, never in their arguments`() throws {
        let words = try ConnectionWords("postgres://ann:it's%20\\secret@db1:5433,db2/name?options=-csearch_path%3Ds")
        #expect(words.environment == ["PGPASSWORD": "it's \\secret"])
        #expect(
            words.argument
                == "dbname='name' host='db1,db2' options='-csearch_path=s' port='5433,' target_session_attrs='read-write' user='ann'"
        )
        #expect(try ConnectionWords("postgres:///name?host=/it's").argument.contains("host='/it\\'s'"))
        #expect(throws: PostgresError.self) { try ConnectionWords("postgres://a?nonsense=1") }
    }

    @Test func `a program's version is parsed from its output`() {
        #expect(ClientPrograms.majorVersion(in: "pg_dump (PostgreSQL) 16.4 (Debian 16.4-1.pgdg120+2)\n") == 16)
        #expect(ClientPrograms.majorVersion(in: "pg_dump (PostgreSQL) 17beta2") == 17)
        #expect(ClientPrograms.majorVersion(in: "no version") == nil)
    }
}
