// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// Moves an embedded server's data into PostgreSQL.
@Suite(.postgres, .timeLimit(.minutes(20)))
struct CopyTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "optimist-copy-\(UUID().uuidString)")

    private func configuration(_ storage: ServerStorage) -> ServerConfiguration {
        var configuration = ServerConfiguration(
            port: 0, storage: storage, schema: .projects, logger: SharedDatabase.quiet)
        configuration.passwordCost = .trivial
        configuration.workBudget = .unlimited
        return configuration
    }

    /// Fills a directory with accounts, rows, tombstones and a deleted account.
    private func fill() async throws -> (people: [Person], state: JSON) {
        let server = try await OptimistServer(configuration: configuration(.directory(directory)))
        defer { server.storage.close() }
        var people: [Person] = []
        for name in ["a@example.org", "B@example.org", "gone@example.org"] {
            people.append(try await server.signUp(name))
        }
        for person in people {
            for start in [0, 1_200] {
                let rows = (start..<start + 1_200).map { number -> JSONObject.Member in
                    (RowKey.todo(number).id, ["content": .string("é\(number)"), "listId": .string(RowKey.list(1).id)])
                }
                _ = try await server.call(
                    person,
                    [
                        ("List/set", ["create": [RowKey.list(1).id: ["name": "L"]]]),
                        ("Todo/set", ["create": .object(JSONObject(rows))]),
                    ], push: Int64(start + 1))
            }
            _ = try await server.call(person, "Todo/set", ["destroy": [.string(RowKey.todo(5).id)]])
        }
        try await server.link("ann", to: people[0])
        _ = try await server.carryOut(.delete(email: "gone@example.org"))
        _ = try await server.carryOut(.invite(days: 3))
        try await server.database.pool.write { db in
            try db.execute(
                sql:
                    "INSERT INTO optimist_accounts (account_id, kind, password, created_at) VALUES ('s1', 'space', '', '')"
            )
        }
        let changes = try await server.call(
            people[0], "Todo/changes", ["sinceState": .string("\(server.epoch).0"), "inline": true])
        return (people, try #require(changes["newState"]))
    }

    private func remove() { try? FileManager.default.removeItem(at: directory) }

    private func copy(to database: PostgresDatabase) async throws -> EmbeddedCopy.Progress {
        try await EmbeddedCopy(
            from: directory, to: PostgresOpening(database: database, logger: SharedDatabase.quiet)
        ).run { _ in }
    }

    @Test func `N10 devices continue with the same accounts, sessions, states, rows and push numbers`()
        async throws
    {
        defer { remove() }
        let (people, state) = try await fill()
        let database = try SharedDatabase.make()
        let done = try await copy(to: database)
        #expect(done.accounts == 3 && done.rows == 2 * 2_401 && done.found == 0)
        let kinds = SharedDatabase.Statement(
            sql: "SELECT kind || coalesce(email, '') FROM optimist_accounts ORDER BY 1")
        #expect(
            try PostgresConnection(database.url).query(kinds, []).texts
                == ["persona@example.org", "personB@example.org", "space"].sorted())
        let keys = try ServerKeys(at: directory.appending(path: "keys.json"))
        let server = try await OptimistServer(configuration: configuration(.postgres(database, secret: keys)))
        #expect(try await server.registry.identify(people[0].access).account == people[0].account)
        _ = try await server.registry.refresh(people[1].refresh)
        let identity = ProviderIdentity(issuer: DraftToken.issuer, subject: "ann")
        #expect(try await server.registry.store.account(of: identity)?.id == people[0].account)
        let refusal = await #expect(throws: AuthRefusal.self) {
            try await server.registry.store.spend(OptimistServer.spentToken)
        }
        #expect(refusal?.reason == "token_used")
        let again = try await server.registry.signIn(
            Accounts.Entry(json: .entry("b@EXAMPLE.org")), from: Caller(address: "test"))
        #expect(again["account_id"] == .string(people[1].account))
        await #expect(throws: Unauthorized.self) { try await server.registry.identify(people[2].access) }
        let changes = try await server.call(people[0], "Todo/changes", ["sinceState": state, "inline": true])
        #expect(changes["newState"]?.string?.hasPrefix(server.epoch) == true && changes["hasMoreChanges"] == false)
        #expect(changes["type"] == nil && changes["created"]?.array?.isEmpty != false)
        let rows = try await server.rows(account: people[0].account, type: "Todo", limit: 5_000)
        #expect(rows.count == 2_399)
        let rewound = try await server.call(people[0], [("Todo/get", ["ids": []])], push: 1_201)
        #expect(rewound.first?.error == nil)
        await #expect(throws: RequestProblem.self) {
            try await server.call(people[0], [("Todo/get", ["ids": []])], push: 1)
        }
        // Deleting a list deletes its todos, so the index entries were copied.
        let gone = try await server.call(people[1], "List/set", ["destroy": [.string(RowKey.list(1).id)]])
        #expect(SetAnswer(json: gone)?.notDestroyed.isEmpty == true)
    }

    @Test func `N10 an interrupted copy continues, and a copy into other data is refused`() async throws {
        defer { remove() }
        _ = try await fill()
        let database = try SharedDatabase.make()
        _ = try await copy(to: database)
        // The database is now as if the copy had been killed between two accounts.
        let connection = try PostgresConnection(database.url)
        let mark = try EmbeddedExport(directory: directory).common().epochs.last
        _ = try connection.query(SharedStatement.keepSetting, [.text(EmbeddedCopy.setting), .text(mark)])
        let account = try connection.query(SharedStatement.accountIDs, [.text(""), .int(1)]).text(0, 0)
        for table in PostgresTables.ofAccounts {
            _ = try connection.query(
                SharedDatabase.Statement(sql: "DELETE FROM \(table) WHERE account_id = $1"), [.text(account)])
        }
        let done = try await copy(to: database)
        #expect(done.accounts == 3 && done.found == 2 && done.rows == 2_401)
        let error = await #expect(throws: OptimistError.self) { try await copy(to: database) }
        #expect(error?.code == .dataInUse)
    }

    @Test func `N10 a directory without a server's data is not copied`() throws {
        let opening = PostgresOpening(database: try SharedDatabase.make(), logger: SharedDatabase.quiet)
        let error = #expect(throws: OptimistError.self) { try EmbeddedCopy(from: directory, to: opening) }
        #expect(error?.code == .unreadableData)
    }
}
