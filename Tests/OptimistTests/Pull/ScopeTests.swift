// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// One table with the rows of several accounts, each with its own order of transactions.
@Suite(.timeLimit(.minutes(20)))
struct ScopeTests {
    private let phone: Phone
    private var store: Store { phone.store }
    private let mine = Todo(content: "mine")
    private let shared = Todo(content: "shared")
    private let space: Int64 = 1

    init() throws { phone = try Phone() }

    private func whole(_ todo: Todo, _ seq: Int64) -> RemotePage.Row {
        pageRow(todo, seq: seq, ["content": .string(todo.content), "date": "2026-11-21", "priority": 0, "done": false])
    }

    private func apply(_ rows: [RemotePage.Row], in scope: Int64, from: String, to cursor: String) async throws -> Bool
    {
        try await store.apply(
            RemotePage(from: from, cursor: cursor, hasMore: false, rows: rows), to: ["todo"], in: scope,
            initialCursor: "e1.0")
    }

    /// Receives ``mine`` in transaction 9 of the person's account, and ``shared`` in transaction 4 of the space.
    private func receiveBoth() async throws {
        #expect(try await apply([whole(mine, 9)], in: Scope.personal, from: "e1.0", to: "e1.9"))
        #expect(try await apply([whole(shared, 4)], in: space, from: "e1.0", to: "e1.4"))
    }

    private func cursors() async throws -> [String?] {
        try await store.read { db in
            try [Scope.personal, space].map { try ProgressTable(db, of: $0).fetch("todo")?.cursor }
        }
    }

    @Test func `R1 P11 each scope has its own progress, and a late page of one changes nothing`() async throws {
        try await receiveBoth()
        #expect(try await store.todos() == [mine, shared])
        #expect(try await cursors() == ["e1.9", "e1.4"])
        #expect(try await !apply([tombstone(shared, seq: 5)], in: space, from: "e1.9", to: "e1.10"))
        #expect(try await apply([tombstone(shared, seq: 5)], in: space, from: "e1.4", to: "e1.5"))
        #expect(try await store.todos() == [mine])
        #expect(try await cursors() == ["e1.9", "e1.5"])
    }

    @Test func `Q2 a row is echoed when pages of its scope include it`() async throws {
        try await receiveBoth()
        let isEchoed = "SELECT isEchoed FROM optimist_state ORDER BY id = ?"
        #expect(try await store.read { try Bool?.fetchAll($0, sql: isEchoed, arguments: [shared.id]) } == [true, true])
        #expect(try await apply([whole(shared, 7)], in: space, from: "e1.4", to: "e1.6"))
        #expect(
            try await store.read { try Bool?.fetchAll($0, sql: isEchoed, arguments: [shared.id]) } == [true, false])
    }

    @Test func `L3 P11 if the server lost transactions of one scope, only its rows are sent again`() async throws {
        try await receiveBoth()
        try await store.apply { db in
            try db.execute(sql: SpaceTables.tables)
            try Scope.update(space, in: db) { $0.member = "6f5c3343-67fe-47f5-b46a-c13b9857bb92" }
        }
        try await store.rewind(
            ["todo"], in: space, at: "e1.4",
            to: [RemoteEpoch(name: "e1", firstSeq: 0), RemoteEpoch(name: "e2", firstSeq: 2)])
        #expect(try await store.entry(shared)?.isRestored == true)
        #expect(try await store.entry(mine)?.isPending == false)
        let epochs = try await store.read { db in
            try [Scope.personal, space].map { try Scope.fetch($0, in: db).epochs.map(\.name) }
        }
        #expect(epochs == [[], ["e1", "e2"]])
        #expect(try await cursors()[0] == "e1.9")
    }

    @Test func `L4 P11 a resync of one scope removes the missing rows of that scope only`() async throws {
        try await receiveBoth()
        try await store.startResync(of: ["todo"], in: space)
        #expect(try await apply([], in: space, from: "e1.0", to: "e1.6"))
        #expect(try await store.massRemoval().rows.isEmpty)
        #expect(try await store.massRemoval(in: space).rows == ["todo": 1])
        try await store.settleUnseen(.remove)
        #expect(try await store.todos() == [mine, shared])
        try await store.settleUnseen(.remove, in: space)
        #expect(try await store.todos() == [mine])
    }

    @Test func `L5 P11 deleted rows are forgotten by the transactions of their scope`() async throws {
        try await receiveBoth()
        #expect(try await apply([tombstone(mine, seq: 10)], in: Scope.personal, from: "e1.9", to: "e1.10"))
        #expect(try await apply([tombstone(shared, seq: 5)], in: space, from: "e1.4", to: "e1.5"))
        let day = { (number: Int) in Date(timeIntervalSince1970: 1_790_000_000 + Double(number) * 86_400) }
        for number in [0, 100] {
            try await store.forgetDeletedRows(rememberedFor: 30, at: day(number), in: space, knowing: 50)
        }
        #expect(try await store.entry(shared) == nil)
        #expect(try await store.entry(mine)?.generation == 2)
    }

    @Test func `R4 a parked row keeps its scope until it fits`() async throws {
        let parked = ReceivedRow(
            ref: RowRef(table: 1, id: shared.id.databaseValue), scope: space, content: whole(shared, 4).content)
        try await store.apply { db in
            try ParkedRows(db).park(parked, reason: .constraint, awaiting: nil)
        }
        #expect(try await apply([whole(mine, 9)], in: Scope.personal, from: "e1.0", to: "e1.9"))
        #expect(try await store.todos() == [mine, shared])
        #expect(try await store.entry(shared)?.remote.scope == space)
        #expect(try await store.entry(mine)?.remote.scope == Scope.personal)
    }

    @Test func `R4 P2 a row that waits in one scope is not replaced by a row of another scope with its id`()
        async throws
    {
        let (ref, parent) = (RowRef(table: 1, id: shared.id.databaseValue), RowRef(table: 1, id: UUID().databaseValue))
        let waiting = ReceivedRow(ref: ref, scope: space, content: whole(shared, 4).content)
        try await store.apply { try ParkedRows($0).park(waiting, reason: .constraint, awaiting: parent) }
        #expect(try await apply([whole(shared, 2)], in: 2, from: "e1.0", to: "e1.2"))
        #expect(try await store.todos().isEmpty)
        #expect(try await store.parkedRows().map(\.reason).contains(.idInOtherSpace))
        let seqs = try await store.read { db in
            try [space, 2].map { try ParkedRows(db).content(ref, in: $0)?.version.seq }
        }
        #expect(seqs == [4, 2])
        #expect(try await apply([tombstone(shared, seq: 5)], in: 2, from: "e1.2", to: "e1.5"))
        #expect(try await store.read { try ParkedRows($0).content(ref)?.version.seq } == 4)
    }

    @Test func `L4 P11 a resync keeps the parked rows of other scopes`() async throws {
        try await receiveBoth()
        try await store.apply { db in
            let late = ReceivedRow(
                ref: RowRef(table: 1, id: shared.id.databaseValue), scope: Scope.personal,
                content: tombstone(shared, seq: 90).content)
            try ParkedRows(db).park(late, reason: .claim, awaiting: nil)
        }
        try await store.startResync(of: ["todo"], in: space)
        #expect(try await apply([], in: space, from: "e1.0", to: "e1.6"))
        try await store.settleUnseen(.keep, in: space)
        #expect(try await store.todos() == [mine, shared])
        #expect(try await store.entry(shared)?.isPending == true)
        #expect(try await store.parkedRows().map(\.isDeletion) == [true])
    }
}
