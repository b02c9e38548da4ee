// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

/// How long tombstones are kept, and what a device receives after a longer absence.
@Suite(.timeLimit(.minutes(20)))
struct TombstoneTests {
    private let served = Served()

    private func write(_ number: Int) async throws {
        _ = try await served.call("Todo/set", .create([(.todo(number), ["content": "a"])]))
    }

    private func delete(_ number: Int) async throws { _ = try await served.call("Todo/set", .destroy(.todo(number))) }

    private func sweep(batch: Int = 500) async throws {
        try await TombstoneSweep(store: served.store, tombstoneDays: 90, batch: batch).run(now: served.now)
    }

    private func pull(_ state: String, max: Int = 100) async throws -> JSONObject {
        try await served.call(
            "Todo/changes", ["sinceState": .string(state), "inline": true, "maxChanges": .int(Int64(max))])
    }

    @Test func `L4: a deleted row is remembered for 90 days; older states are refused after that`()
        async throws
    {
        try await write(1)
        try await write(2)
        try await delete(1)
        served.advance(days: 89)
        try await write(3)
        try await sweep()
        #expect(try await pull("e1.2")["destroyed"] == [.string(RowKey.id(1))])
        served.advance(days: 2)
        try await sweep()
        #expect(try await pull("e1.2")["type"] == "cannotCalculateChanges")
        #expect(try await pull("e1.3")["list"]?.array?.count == 1)
        let standard = try await served.call("Todo/changes", ["sinceState": "e1.2"])
        #expect(standard["type"] == "cannotCalculateChanges")
        #expect(try await served.call("Todo/changes", ["snapshot": ["at": "e1.2"]])["type"] == "cannotCalculateChanges")
        #expect(try await served.call("Todo/changes", ["snapshot": [:]])["list"]?.array?.count == 2)
    }

    @Test func `L4: tombstones of rows that no write touches are purged, and living rows stay`() async throws {
        try await write(1)
        try await write(2)
        try await delete(1)
        served.advance(days: 92)
        try await sweep()
        let rows = try served.store.reading(Served.account, as: .operator) {
            try $0.rows(type: "Todo", ids: [RowKey.id(1), RowKey.id(2)])
        }
        #expect(rows.keys.map(\.self) == [RowKey.id(2)])
    }

    @Test func `L4: the floor is the last purged row, and rises batch by batch`() async throws {
        for number in 1...5 { try await write(number) }
        for number in 1...5 { try await delete(number) }
        try await write(6)
        served.advance(days: 92)
        let expiry = Expiry(now: served.now, tombstoneDays: 90)
        let hasMore = try await served.store.write(account: Served.account, as: .operator) {
            try $0.forget(expiry, limit: 2)
        }
        #expect(hasMore)
        #expect(try served.store.reading(Served.account, as: .operator) { $0.floor } == 7)
        try await sweep(batch: 2)
        #expect(try served.store.reading(Served.account, as: .operator) { $0.floor } == 10)
        #expect(try await pull("e1.9")["type"] == "cannotCalculateChanges")
        #expect(try await pull("e1.10")["list"]?.array?.count == 1)
    }

    @Test func `L4: a batch that fails purges nothing`() async throws {
        try await write(1)
        try await delete(1)
        served.advance(days: 92)
        let expiry = Expiry(now: served.now, tombstoneDays: 90)
        await #expect(throws: CancellationError.self) {
            try await served.store.write(account: Served.account, as: .operator) { account in
                _ = try account.forget(expiry, limit: 9)
                throw CancellationError()
            }
        }
        #expect(try await pull("e1.1")["destroyed"] == [.string(RowKey.id(1))])
    }

    @Test func `L4: a device that began empty may read below the floor until a later purge`()
        async throws
    {
        for number in 1...6 { try await write(number) }
        try await delete(5)
        served.advance(days: 92)
        try await sweep()
        let first = try await pull("e1.0", max: 2)
        #expect(first["newState"] == "e1.2.0.7")
        let second = try await pull("e1.2.0.7", max: 2)
        #expect(second["newState"] == "e1.5.0.7")
        #expect(
            try await pull("e1.5.0.7")["newState"] == "e1.7", "a device that has received everything is like any other")
        try await delete(1)
        served.advance(days: 92)
        try await sweep()
        #expect(try await pull("e1.5.0.7")["type"] == "cannotCalculateChanges")
        #expect(try await pull("e1.0", max: 2)["newState"] == "e1.3.0.8")
    }

    @Test func `L4: a device whose first pull was empty still needs its state to be newer than later purges`()
        async throws
    {
        let state = try #require(try await pull("e1.0")["newState"]?.string)
        #expect(try await served.call("Todo/changes", ["snapshot": [:]])["at"] == .string(state))
        try await write(1)
        try await delete(1)
        #expect(try await pull(state)["destroyed"] == [.string(RowKey.id(1))])
        served.advance(days: 92)
        try await sweep()
        #expect(try await pull(state)["type"] == "cannotCalculateChanges")
    }

    @Test func `L4: a device that pushed before its first pull receives earlier deletions`() async throws {
        try await write(1)
        try await delete(1)
        #expect(try await pull("e1.0")["destroyed"] == [.string(RowKey.id(1))])
    }

    @Test func `L3: a device's push number is remembered for a year without contact`() async throws {
        _ = try await served.call("Todo/set", [:], push: 7)
        served.advance(days: 364)
        try await sweep()
        await #expect(throws: RequestProblem.pushRewound) { _ = try await served.call("Todo/set", [:], push: 6) }
        served.advance(days: 2)
        try await sweep()
        _ = try await served.call("Todo/set", [:], push: 6)
    }

    @Test func `L4: a clock that is wrong for a day purges nothing too early`() {
        var notes = AccountNotes()
        func transaction(_ day: Int) {
            notes.begin(day: day)
            notes.seq += 1
        }
        for day in [100, 100, 101, 9_000, 102, 103] { transaction(day) }
        #expect((99...104).map { notes.seq(before: $0) } == [0, 0, 2, 4, 5, 6])
        notes.forgetDays(before: 102)
        #expect(notes.days.keys.sorted() == [102, 103])
        #expect(notes.seq(before: 102) == 4)
        for day in [50, 50] { transaction(day) }
        #expect((50...51).map { notes.seq(before: $0) } == [6, 8])
    }

    @Test func `the state of a device that began empty records where the device began`() {
        for text in ["e.4.0.9", "e.0.0.0", "e.4.2.9"] { #expect(SyncState(text)?.description == text) }
        for text in ["e.4.0.", "e.4.0.-1", "e.4..9", "e.4.0.9.1"] { #expect(SyncState(text) == nil) }
    }
}
