// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

@Suite(.timeLimit(.minutes(20)))
struct InMemorySyncStoreTests {
    private let store = InMemorySyncStore(accounts: ["a"], epoch: "e1")

    private struct Failure: Error {}

    private func change(_ number: Int, _ list: Int) -> RowChange {
        let row = MergeRow(generation: 1, cells: ["listId": Cell(.string(RowKey.list(list).id), .at(0))])
        let former =
            (try? store.reading("a", as: .operator) { try $0.rows(type: "Todo", ids: [RowKey.todo(number).id]) })?
            .values
            .first
        let entries = ModelStore.projects.types["Todo"]?.indexEntries(of: row) ?? []
        let old = former.flatMap { ModelStore.projects.types["Todo"]?.indexEntries(of: $0.row) } ?? []
        return RowChange(
            key: .todo(number), row: row, memory: RowMemory(), bornSeq: nil,
            droppedEntries: old.subtracting(entries), addedEntries: entries.subtracting(old))
    }

    private func holders(_ list: Int) throws -> [String] {
        let key = RowKey.list(list).indexKey
        return try store.reading("a", as: .operator) {
            try $0.holders(type: "Todo", index: "listId", keys: [key])[key] ?? []
        }
    }

    @Test func `when work throws, none of its writes are kept`() async throws {
        let (first, second) = ([change(1, 1), change(2, 1)], [change(1, 2), change(3, 2)])
        try await store.write(account: "a", as: .operator) {
            _ = try ($0.append(first, day: 1), $0.notePush(3, device: "d", day: 1))
        }
        await #expect(throws: Failure.self) {
            try await store.write(account: "a", as: .operator) { account in
                _ = try account.notePush(9, device: "d", day: 1)
                _ = try account.append(second, day: 1)
                throw Failure()
            }
        }
        let page = try store.reading("a", as: .operator) {
            try $0.changes(type: "Todo", from: .start, limit: 10, maxBytes: .max)
        }
        #expect(page.rows.map(\.id) == [RowKey.todo(1).id, RowKey.todo(2).id])
        #expect(try holders(1) == [RowKey.todo(1).id, RowKey.todo(2).id])
        #expect(try holders(2) == [])
        #expect(try await store.write(account: "a", as: .operator) { try $0.notePush(4, device: "d", day: 1) })
    }

    @Test func `R1 changes list each row once, in the order of its last transaction`() async throws {
        for number in 1...200 {
            let changes = [change(number % 3, number % 2)]
            try await store.write(account: "a", as: .operator) { _ = try $0.append(changes, day: 1) }
        }
        let page = try store.reading("a", as: .operator) {
            try $0.changes(type: "Todo", from: LogPosition(after: 198), limit: 10, maxBytes: .max)
        }
        #expect(page.rows.map(\.place.seq) == [199, 200])
        #expect(
            try store.reading("a", as: .operator) {
                try $0.changes(type: "Todo", from: .start, limit: 2, maxBytes: .max).next?.seq
            }
                == 200)
    }

    @Test func `an unknown account is refused, and a restored backup starts a new epoch`() async throws {
        await #expect(throws: StoreError.self) { try await store.read(account: "b", as: .operator) { $0.seq } }
        let backup = store.contents
        let changes = [change(1, 1)]
        try await store.write(account: "a", as: .operator) { _ = try $0.append(changes, day: 1) }
        store.contents = backup
        store.begin(epoch: "e2")
        #expect(try store.reading("a", as: .operator) { $0.seq } == 0)
        #expect(try store.reading("a", as: .operator) { try $0.epochs().all.map(\.name) } == ["e1", "e2"])
    }
}
