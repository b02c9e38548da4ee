// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@testable import Optimist

/// A backend without clocks. The value stored last wins, and transactions are numbered.
private struct ClocklessServer {
    struct Stored {
        var values: JSONObject
        var seq: Int64
    }

    var rows: [String: Stored] = [:]
    var seq: Int64 = 1

    mutating func write(_ id: String, _ values: JSONObject) {
        seq += 1
        var stored = rows[id] ?? Stored(values: ["content": "", "priority": 0], seq: 0)
        for (name, value) in values.members where ["content", "priority"].contains(name) { stored.values[name] = value }
        stored.seq = seq
        rows[id] = stored
    }

    func patch(_ id: String) -> RowPatch? { rows[id].map { RowPatch(seq: $0.seq, values: $0.values) } }

    func page(after cursor: Int64) -> RemotePage {
        RemotePage(
            from: "e1.\(cursor)", cursor: "e1.\(seq)", hasMore: false,
            rows: rows.filter { $0.value.seq > cursor }.keys.sorted().compactMap { id in
                patch(id).map { RemotePage.Row(table: "todo", id: id, content: .row($0)) }
            })
    }

    mutating func take(_ push: RemotePush, refusing: Bool) -> [RemotePush.Verdict] {
        push.rows.map { row in
            guard case .create(let patch) = row.change else {
                guard case .update(let patch) = row.change else { return .accepted(seq: seq) }
                if refusing { return refusal(row.id) }
                write(row.id, patch.values)
                return .accepted(seq: seq)
            }
            if refusing { return refusal(row.id) }
            write(row.id, patch.values)
            return .accepted(seq: seq)
        }
    }

    private func refusal(_ id: String) -> RemotePush.Verdict {
        .rejected(RemotePush.Refusal(code: "forbidden", message: "no", current: patch(id)))
    }
}

@Suite(.timeLimit(.minutes(20)))
struct ClocklessTests {
    private let phone: Phone
    private var store: Store { phone.store }
    private let todo = Todo(content: "Old")

    init() throws { phone = try Phone() }

    private func row(_ content: String, seq: Int64) -> RemotePage.Row {
        let values: JSONObject = ["content": .string(content), "date": "2026-11-21", "priority": 0, "done": false]
        return RemotePage.Row(table: "todo", id: todo.wireID, content: .row(RowPatch(seq: seq, values: values)))
    }

    private func write(_ sql: String) async throws { try await store.write { try $0.execute(sql: sql) } }

    private func contents() async throws -> [String] { try await store.todos().map(\.content) }

    @Test func `M1 a value received without a clock yields to any clock, even after a relaunch`() async throws {
        let todo = todo
        try await store.write { try todo.insert($0) }
        try await store.pushAccepted(seq: 2)
        try await store.receive([row("Theirs", seq: 3)], from: "e1.0", to: "e1.3")
        try phone.reopen()
        try await store.receive(
            [pageRow(todo, seq: 4, stamp: 1_000, ["content": "With a clock"])], from: "e1.3", to: "e1.4")
        #expect(try await contents() == ["With a clock"])
    }

    @Test(arguments: 1...TestForm.of(short: 6, full: 60))
    func `M1 R5 without clocks, device and server converge in any order of events`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var server = ClocklessServer()
        let todos = [todo, Todo(content: "Second")]
        var cursor: Int64 = 0
        var sent: (PushBatch, [RemotePush.Verdict])?
        var page: RemotePage?
        func deliver(_ page: RemotePage) async throws {
            let isNext = try await store.apply(page, to: ["todo"], initialCursor: "e1.0")
            if isNext { cursor = try #require(SyncState(page.cursor)).seq }
        }
        for step in 0..<40 {
            phone.advance(Int64.random(in: 0...3, using: &random))
            let row = try #require(todos.randomElement(using: &random))
            switch Int.random(in: 0..<7, using: &random) {
            case 0:
                try await store.write { db in
                    if try Todo.fetchOne(db, key: row.id) == nil { return try row.insert(db) }
                    try db.execute(sql: "UPDATE todo SET content = 'mine \(step)' WHERE id = ?", arguments: [row.id])
                }
            case 1: try await write("UPDATE todo SET priority = \(step)")
            case 2: server.write(row.wireID, ["content": .string("theirs \(step)")])
            case 3: server.write(row.wireID, ["priority": .int(Int64(1000 + step))])
            case 4 where sent == nil:
                guard let batch = try await store.nextPush(PushLimit()) else { continue }
                sent = (batch, server.take(batch.push, refusing: Int.random(in: 0..<4, using: &random) == 0))
            case 5:
                if let answered = sent { try await store.apply(answered.1, of: answered.0) }
                sent = nil
            default:
                if let former = page { try await deliver(former) }
                page = server.page(after: cursor)
            }
        }
        if let sent { try await store.apply(sent.1, of: sent.0) }
        if let page { try await deliver(page) }
        while let batch = try await store.nextPush(PushLimit()) {
            try await store.apply(server.take(batch.push, refusing: false), of: batch)
        }
        try await deliver(server.page(after: cursor))
        let here = try await store.todos().map { [$0.wireID, $0.content, "\($0.priority)"] }
        let there = server.rows.map { id, stored in
            [id, stored.values["content"]?.string ?? "", "\(stored.values["priority"]?.int ?? 0)"]
        }
        #expect(Set(here) == Set(there))
        #expect(try await store.pendingCount() == 0)
    }
}
