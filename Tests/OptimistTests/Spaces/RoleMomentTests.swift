// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// A person's role in a space, and the rows of that moment.
@Suite(.timeLimit(.minutes(20)))
struct RoleMomentTests {
    private let home = UUID()

    private func call(
        _ method: String, _ arguments: JSONObject, as person: String, at server: InMemoryServer
    ) async throws -> JSONObject {
        var arguments = arguments
        arguments["accountId"] = .string(SpaceAccount.id(of: home.wire, own: ""))
        let request = Request(methodCalls: [Invocation(method, arguments, callID: "0")])
        return try #require(try await server.answer(request, as: person).methodResponses.first).arguments
    }

    private func createList(as person: String, at server: InMemoryServer) async throws -> JSONObject {
        let row: JSON = ["name": .string(UUID().wire), "space": .string(home.wire)]
        return try await call("list/set", ["create": .object([UUID().wire: row])], as: person, at: server)
    }

    /// Reads and writes until the access ends. Returns the states of the answers with rows, and of the accepted writes.
    private func useUntilEnded(_ server: InMemoryServer) async throws -> [SyncState] {
        var states: [SyncState] = []
        while true {
            let page = try await call("list/changes", ["sinceState": "m.0"], as: "bob", at: server)
            let write = try await createList(as: "bob", at: server)
            if page["type"] == "accessEnded", write["type"] == "accessEnded" { return states }
            states += [page, write].compactMap { $0["newState"]?.string.flatMap { SyncState($0) } }
        }
    }

    @Test(arguments: 0..<20)
    func `P14 no answer reaches beyond the removal of its reader, whatever the others do at the same time`(
        round: Int
    ) async throws {
        let server = InMemoryServer(schema: .sharedLists)
        try await server.found(home, by: "ann")
        try await server.join(home, "bob")
        async let used = useUntilEnded(server)
        for _ in 0...round { _ = try await createList(as: "ann", at: server) }
        try await server.remove("bob", from: home, by: "ann")
        for _ in 0..<3 { _ = try await createList(as: "ann", at: server) }
        let account = SpaceAccount.id(of: home.wire, own: "")
        let end = try #require(server.store.contents.accounts[account]?.notes.members["bob"]?.end)
        for state in try await used { #expect(state.seq < end.seq) }
    }

    @Test func `P14 a screen never shows a role with rows of a later moment`() async throws {
        struct Screen: Equatable, Sendable {
            var role: SpaceRole?
            var lists: [String]
        }
        let server = InMemoryServer(schema: .sharedLists, now: { Date(timeIntervalSince1970: 1_790_000_000) })
        let list = try await server.found(home, by: "ann")
        try await server.join(home, "bob")
        let bob = try ListPhone(server, "bob")
        try await bob.sync()
        let screens = bob.store.observe { db in
            Screen(
                role: try Space.fetchOne(db)?.role,
                lists: try String.fetchAll(db, sql: "SELECT name FROM list ORDER BY name"))
        }
        let seen = Task {
            var seen: [Screen] = []
            for await state in screens {
                if let screen = state.value { seen.append(screen) }
                if state.value?.lists == ["later"] { break }
            }
            return seen
        }
        let member = try #require(try server.members(of: home).first { $0.person == "bob" }).memberID
        try await server.set(
            ["update": .object([member: ["role": "reader"]])], of: "optimist_member", in: home, as: "ann")
        try await server.set(["update": .object([list.id.wire: ["name": "later"]])], of: "list", in: home, as: "ann")
        try await bob.sync()
        let shown = await seen.value
        #expect(shown.last == Screen(role: .reader, lists: ["later"]))
        #expect(!shown.contains(Screen(role: .writer, lists: ["later"])))
    }
}
