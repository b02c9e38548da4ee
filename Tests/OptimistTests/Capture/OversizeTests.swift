// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct OversizeTests {
    private let limit = RowSync.Limit.rowBytes

    private func refusal(_ write: () async throws -> Void) async -> OptimistError? {
        do { try await write() } catch { return error as? OptimistError }
        return nil
    }

    @Test func `S9 a row too large for any server is refused at the write, and its transaction rolls back`()
        async throws
    {
        let store = try Phone().store
        let text = String(repeating: "a", count: limit + 1)
        let error = await refusal {
            try await store.write { db in
                try Todo(content: "small").insert(db)
                try Todo(content: text).insert(db)
            }
        }
        #expect(error?.code == .rowTooLarge)
        #expect(error?.message.contains("todo") == true && error?.message.contains("\(limit)") == true)
        #expect(try await store.todos().isEmpty)
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `S9 the row limit counts UTF-8 bytes across all columns`() async throws {
        let store = try Phone().store
        let half = String(repeating: "é", count: limit / 4)
        try await store.write { try Todo(content: half).insert($0) }
        let error = await refusal { try await store.write { try Todo(content: half, date: half + "é").insert($0) } }
        #expect(error?.code == .rowTooLarge)
        let grown = await refusal {
            try await store.write { try $0.execute(sql: "UPDATE todo SET date = content || 'é'") }
        }
        #expect(grown?.code == .rowTooLarge)
        #expect(try await store.todos().map(\.date) == ["2026-11-21"])
    }

    @Test func `S9 a received row over the limit can be edited as long as it does not grow`() async throws {
        let store = try Phone().store
        let todo = Todo(content: String(repeating: "a", count: limit + 10))
        let values: JSONObject = ["content": .string(todo.content), "date": "d", "priority": 0, "done": false]
        try await store.receive([pageRow(todo, seq: 1, values)], from: "e1.0", to: "e1.1")
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 1") }
        #expect(try await store.dirtyColumns(todo) == ["done"])
        let error = await refusal { try await store.write { try $0.execute(sql: "UPDATE todo SET date = 'longer'") } }
        #expect(error?.code == .rowTooLarge)
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = substr(content, 5), date = 'more'") }
    }

    @Test func `S9 an app can catch the size error and write a smaller row`() async throws {
        let store = try Phone().store
        let text = String(repeating: "a", count: limit + 1)
        try await store.write { db in
            do { try Todo(content: text).insert(db) } catch { try Todo(content: "shortened").insert(db) }
        }
        #expect(try await store.todos().map(\.content) == ["shortened"])
        #expect(try await store.pendingCount() == 1)
    }
}
