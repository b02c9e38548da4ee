// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SnapshotRemoteTests {
    private let server = InMemoryServer(schema: .planner)

    private func id(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

    private func push(_ numbers: [Int], number: Int64) async throws {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1), device: "deviceAA")
        let rows = numbers.map { number in
            let patch = RowPatch(
                generation: 1, clocks: ColumnClocks(common: clock), values: ["content": .string("\(number)")])
            return RemotePush.Row(table: "todo", id: id(number), change: .create(patch))
        }
        _ = try await InMemoryRemote(server).push(RemotePush(number: number, device: "deviceAA", rows: rows))
    }

    @Test func `R6: the parts of a snapshot and the later changes are complete`() async throws {
        try await push([1, 2, 3], number: 1)
        let remote = InMemoryRemote(server)
        let first = try await remote.snapshot(RemoteSnapshot.Request(table: "todo", limit: 2))
        #expect(first.rows.map(\.id) == [id(1), id(2)])
        #expect(first.next == id(2))
        #expect(first.total == 3)
        #expect(first.serverTime != nil)
        try await push([0, 4], number: 2)
        let asked = RemoteSnapshot.Request(table: "todo", at: first.at, after: first.next, limit: 9)
        server.inject(.answerLost, into: .snapshot)
        await #expect(throws: RemoteFailure.unreachable("answer lost")) { try await remote.snapshot(asked) }
        let second = try await remote.snapshot(asked)
        #expect(second.rows.map(\.id) == [id(3), id(4)])
        #expect(second.at == first.at)
        #expect(second.next == nil)
        let tail = try await remote.pull(RemotePage.Request(tables: ["todo"], cursor: first.at, limit: 9))
        #expect(Set(tail.rows.map(\.id)) == [id(0), id(4)])
        #expect(!tail.hasMore)
    }

    @Test func `R6: an empty snapshot has a cursor for all later changes`() async throws {
        let remote = InMemoryRemote(server)
        let empty = try await remote.snapshot(RemoteSnapshot.Request(table: "todo", limit: 9))
        #expect(empty.rows.isEmpty)
        #expect(empty.next == nil)
        try await push([1], number: 1)
        let tail = try await remote.pull(RemotePage.Request(tables: ["todo"], cursor: empty.at, limit: 9))
        #expect(tail.rows.map(\.id) == [id(1)])
    }

    @Test func `R6: a snapshot fails offline`() async throws {
        let remote = InMemoryRemote(server)
        remote.isOnline = false
        await #expect(throws: RemoteFailure.notSent("offline")) {
            try await remote.snapshot(RemoteSnapshot.Request(table: "todo", limit: 9))
        }
    }
}
