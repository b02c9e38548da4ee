// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

/// Counters of a device or a server that went back (L3).
extension CounterTests {
    /// Counts three and then two, and learns that the server has gone back to before the two.
    private func goneBack() async throws -> String {
        try await confirmed()
        for added in [3, 2] {
            try await phone.execute("UPDATE photo SET likes = likes + \(added)")
            try await phone.sync(with: server)
        }
        let epochs = [RemoteEpoch(name: "m", firstSeq: 0), RemoteEpoch(name: "n", firstSeq: 2)]
        try await phone.store.rewind(["photo"], at: nil, to: epochs)
        return try await phone.store.read { try DeviceIdentity.current(in: $0) }
    }

    /// A page with a sum, some of it this device's, of the server's ninth transaction since.
    private func receive(_ sum: Int64, mine: Int64, of device: String) async throws {
        let patch = RowPatch(
            generation: 1, clocks: ColumnClocks(common: WriteClock(stamp: Stamp(rawValue: 1), device: device)), seq: 9,
            values: ["likes": .int(sum)], mine: ["likes": [device: mine]])
        let row = RemotePage.Row(table: "photo", id: photo.id.uuidString.lowercased(), content: .row(patch))
        #expect(
            try await phone.store.apply(
                RemotePage(from: "n.2", cursor: "n.9", hasMore: false, rows: [row]), to: ["photo"], initialCursor: "n.2"
            ))
    }

    @Test
    func `L3 M3 a server that went back learns what it had been told, though its transactions have the same numbers`()
        async throws
    {
        let device = try await goneBack()
        // Another device has brought back the row as it was before.
        try await receive(3, mine: 3, of: device)
        #expect(try await likes() == 5)
        let sent = try #require(try self.patch(try await phone.next()).values["likes"])
        #expect(CounterPatch(json: sent) == .totals([.init(5)]))
    }

    @Test func `L3 M3 a page from before what has healed takes nothing back`() async throws {
        let device = try await goneBack()
        let batch = try #require(try await phone.next())
        try await phone.store.apply([.accepted(seq: 10)], of: batch)
        // It was asked for before the answer, and comes after it.
        try await receive(3, mine: 3, of: device)
        #expect(try await likes() == 5)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let sent = try #require(try self.patch(try await phone.next()).values["likes"])
        #expect(CounterPatch(json: sent) == .totals([.init(6)]))
    }

    @Test func `L3 M3 what heals learns from the answer what it had counted since`() async throws {
        try await confirmed()
        try await phone.execute("UPDATE photo SET likes = likes + 3")
        let device = try await phone.store.read { try DeviceIdentity.current(in: $0) }
        try await phone.store.rewind(
            ["photo"], at: nil,
            to: [RemoteEpoch(name: "m", firstSeq: 0), RemoteEpoch(name: "n", firstSeq: 0)])
        let batch = try #require(try await phone.next())
        let won = RowPatch(generation: 1, values: ["likes": 8], mine: ["likes": [device: 6]])
        try await phone.store.apply([.merged(seq: 9, won)], of: batch)
        #expect(try await likes() == 8)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let sent = try #require(try patch(try await phone.next()).values["likes"])
        #expect(CounterPatch(json: sent) == .totals([.init(7)]))
    }

    @Test func `L3 M3 the answer to what heals takes back no sum that a later page has brought`() async throws {
        let device = try await goneBack()
        let batch = try #require(try await phone.next())
        // The page was made after the push was taken and four were added, and comes before the answer.
        try await receive(9, mine: 5, of: device)
        let won = RowPatch(generation: 1, values: ["likes": 5], mine: ["likes": [device: 5]])
        try await phone.store.apply([.merged(seq: 8, won)], of: batch)
        #expect(try await likes() == 9)
        #expect(try await phone.store.pendingCount() == 0)
    }

    @Test func `L3 M3 a row shows the total that the server keeps, if it is another than was sent again`() async throws
    {
        let device = try await goneBack()
        let batch = try #require(try await phone.next())
        // The file went back too, and what it had counted in between wins: seven. Then another device added three.
        try await receive(10, mine: 7, of: device)
        let won = RowPatch(generation: 1, values: ["likes": 7], mine: ["likes": [device: 7]])
        try await phone.store.apply([.merged(seq: 8, won)], of: batch)
        #expect(try await likes() == 10)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let sent = try #require(try patch(try await phone.next()).values["likes"])
        #expect(CounterPatch(json: sent) == .totals([.init(8)]))
    }

    @Test(arguments: [false, true])
    func `L3 M3 a page that was asked for before a device took a new id is asked for again`(isSnapshot: Bool)
        async throws
    {
        try await confirmed(likes: 5)
        let store = phone.store
        let asked = try await store.origins()
        try await store.renewDeviceID()
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let batch = try #require(try await phone.next())
        // The page is made after the push was taken: the sum has the one that was added under the new id, and does not say so.
        let patch = RowPatch(
            generation: 1, clocks: ColumnClocks(common: WriteClock(stamp: Stamp(rawValue: 1), device: asked[0])),
            seq: 9,
            values: ["likes": 6], mine: ["likes": [asked[0]: 5]])
        let row = RemotePage.Row(table: "photo", id: photo.id.uuidString.lowercased(), content: .row(patch))
        try await store.apply([.accepted(seq: 9)], of: batch)
        let cursor = try #require(try await store.tableProgress().first?.cursor)
        func take(_ origins: [String]) async throws -> Bool {
            if isSnapshot {
                return try await store.apply(
                    RemoteSnapshot(at: "m.9", rows: [row], next: nil),
                    of: RemoteSnapshot.Request(table: "photo", limit: 100, origins: origins))
            }
            return try await store.apply(
                RemotePage(from: cursor, cursor: "m.9", hasMore: false, rows: [row]), to: ["photo"],
                initialCursor: cursor,
                origins: origins)
        }
        if isSnapshot { try await store.startResync(of: ["photo"]) }
        #expect(try await !take(asked))
        #expect(try await likes() == 6)
        #expect(try await take(store.origins()))
    }
}
