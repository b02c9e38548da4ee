// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Logging
@_spi(Internals) import OptimistServing
import OptimistWire
import Testing

@testable import OptimistServer

/// What a check finds in a server's directory.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct CheckTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-check-\(UUID().uuidString)")

    /// Serves a list and to-dos that refer to it, once.
    private func fill() async throws {
        var configuration = ServerConfiguration(
            port: 0, storage: .directory(folder), schema: .projects,
            logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.passwordCost = .trivial
        configuration.workBudget = .unlimited
        let server = try await OptimistServer(configuration: configuration)
        defer { server.storage.close() }
        let person = try await server.signUp("a@example.org")
        let rows = (0..<20).map { number -> JSONObject.Member in
            (RowKey.todo(number).id, ["content": "c", "listId": .string(RowKey.list(1).id)])
        }
        _ = try await server.call(
            person,
            [
                ("List/set", ["create": [RowKey.list(1).id: ["name": "L"]]]),
                ("Todo/set", ["create": .object(JSONObject(rows))]),
            ], push: 1)
        _ = try await server.call(person, "Todo/set", ["destroy": [.string(RowKey.todo(5).id)]])
    }

    private func change(_ sql: String) throws {
        // The closing server may still hold the file's lock.
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(
            path: folder.appending(path: "optimist.sqlite").path, configuration: configuration)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    @Test func `O7 the check names a row missing from its index, and a value only in the index`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await fill()
        #expect(try DataCheck.problems(of: folder) == [])
        try change("DELETE FROM optimist_index WHERE id = '\(RowKey.todo(7).id)'")
        let lacking = try DataCheck.problems(of: folder)
        #expect(lacking.count == 1)
        #expect(lacking.first?.hasPrefix("An index lacks a row: ") == true)
        #expect(lacking.first?.hasSuffix(" Todo \(RowKey.todo(7).id).") == true)
        try change(
            """
            INSERT INTO optimist_index SELECT account_id, 'Todo', 'listId', '\(RowKey.list(1).id)', '\(RowKey.todo(7).id)'
            FROM optimist_accounts;
            INSERT INTO optimist_index SELECT account_id, 'Todo', 'listId', 'other', '\(RowKey.todo(8).id)'
            FROM optimist_accounts
            """)
        let stale = try DataCheck.problems(of: folder)
        #expect(stale.map { $0.hasPrefix("An index has a value that its row does not have: ") } == [true])
    }

    @Test func `an index made by an earlier version is not checked`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await fill()
        try change("DELETE FROM optimist_index; UPDATE optimist_settings SET value = '1 {}' WHERE name = 'indexes'")
        #expect(try DataCheck.problems(of: folder) == [])
    }

    @Test func `O7 the check names members whose index differs from their row, and wrong counts`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await fill()
        #expect(try DataCheck.problems(of: folder) == [])
        try change("INSERT INTO optimist_members VALUES ('a', 'p', 'm', 'owner', 1, NULL, NULL)")
        #expect(
            try DataCheck.problems(of: folder) == ["The index of members differs from the member rows: a p m owner."])
        try change("UPDATE optimist_members SET ended_seq = 2")
        try change("UPDATE optimist_accounts SET row_count = row_count + 1")
        let counted = try DataCheck.problems(of: folder)
        #expect(counted.count == 1 && counted[0].hasPrefix("The number of an account's rows is wrong: "))
    }
}
