// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization
import TestForm
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Which durable transactions the app is told about.
@Suite(.timeLimit(.minutes(20)))
struct ReportTests {
    private struct Trouble: Error {}

    private static func write(_ number: Int, to store: any SyncStore) async throws {
        try await store.write(account: StoreFile.account, as: .operator) { transaction in
            let clock = WriteClock(stamp: Stamp(milliseconds: Int64(number)), device: "deviceAA")
            let row = MergeRow(generation: 1, cells: ["content": Cell(.string("\(number)"), clock)])
            _ = try transaction.append(
                [
                    RowChange(
                        key: RowKey("todo", RowKey.id(number % 4)), row: row, memory: RowMemory(), bornSeq: nil,
                        droppedEntries: [], addedEntries: [])
                ], day: 20_000)
        }
    }

    @Test func `G5 a store lists unreported transactions, and each row only in the last of them`() async throws {
        let place = try StorePlace()
        defer { withExtendedLifetime(place) {} }
        let store = try await place.open(epoch: "e1")
        for number in 0..<6 { try await Self.write(number, to: store) }
        @Sendable func unreported(limit: Int) async throws -> [AppliedTransaction] {
            try await store.read(account: StoreFile.account, as: .operator) {
                try $0.unreported(by: .planner, limit: limit).transactions
            }
        }
        let all = try await unreported(limit: 10)
        #expect(all.map(\.seq) == [1, 2, 3, 4, 5, 6])
        #expect(all.map { $0.rows.map { $0.values?["content"] } } == [[], [], ["2"], ["3"], ["4"], ["5"]])
        try await store.write(account: StoreFile.account, as: .operator) { try $0.noteReported(4) }
        try await store.write(account: StoreFile.account, as: .operator) { try $0.noteReported(2) }
        #expect(try await unreported(limit: 1).map(\.seq) == [5])
        #expect(try await unreported(limit: 9).map(\.seq) == [5, 6])
        let size = try await store.read(account: StoreFile.account, as: .operator) {
            try $0.changes(type: "todo", from: LogPosition(seq: 3, ordinal: 0), limit: 1, maxBytes: .max).rows[0]
                .byteCount
        }
        for (maxBytes, seqs) in [(1, [3]), (2 * size, [3, 4]), (9 * size, [3, 4, 5, 6])] as [(Int, [Int64])] {
            let page = try await store.read(account: StoreFile.account, as: .operator) {
                try $0.transactions(after: 2, by: .planner, limit: 10, maxBytes: maxBytes)
            }
            #expect(page.transactions.map(\.seq) == seqs && page.hasMore == (seqs.last != 6))
            #expect(page.transactions.allSatisfy { $0.rows.count == 1 })
        }
    }

    /// When a server dies.
    private enum Death: CaseIterable { case beforeTelling, afterTelling, idle }

    @Test func `G5 however often a server dies, every transaction is reported at least once, in order`()
        async throws
    {
        let place = try StorePlace()
        var random = SplitMix64(seed: 30)
        var written = 0
        var told: [[Int64]] = []
        for life in 1...TestForm.of(short: 20, full: 200) {
            let store = try await place.open(epoch: "e\(life)")
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                try await Self.write(written, to: store)
                written += 1
            }
            let death = Death.allCases.randomElement(using: &random) ?? .idle
            told.append(
                try await Self.live(store, until: death, after: Int.random(in: 1...4, using: &random)))
        }
        told.append(try await Self.live(try await place.open(epoch: "end"), until: .idle, after: 1))
        #expect(Set(told.joined()) == Set((0..<written).map { Int64($0 + 1) }))
        for lives in told where !lives.isEmpty { #expect(lives == Array(lives[0]...lives[lives.count - 1])) }
        var next: Int64 = 1
        for lives in told {
            guard let first = lives.first, let last = lives.last else { continue }
            #expect(first <= next, "A transaction was left out.")
            next = max(next, last + 1)
        }
    }

    /// Runs the reports of one server process, and then ends them abruptly.
    ///
    /// - Parameter count: After how many reported transactions the server dies. If there are fewer, it dies when all
    ///   are reported.
    private static func live(_ store: any SyncStore, until death: Death, after count: Int) async throws -> [Int64] {
        let told = Mutex<[Int64]>([])
        let (deaths, die) = AsyncStream<Void>.makeStream()
        let (calls, call) = AsyncStream<Void>.makeStream()
        let reports = AppReports(
            rows: store, schema: .planner,
            didApply: { transaction in
                let isLast = death != .idle && told.withLock { $0.count + 1 == count }
                if !isLast || death == .afterTelling { told.withLock { $0.append(transaction.seq) } }
                guard isLast else { return }
                die.yield()
                // Only the end of the server ends the call.
                for await _ in calls {}
                throw Trouble()
            },
            exclusively: { work in
                await work()
                die.yield()
            }, clock: ManualClock(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await reports.run() }
        for await _ in deaths { break }
        running.cancel()
        call.finish()
        try await running.value
        return told.withLock(\.self)
    }

    @Test func `G5 a failed report is repeated, and other accounts do not wait for it`() async throws {
        let site = Site()
        let told = Mutex<[String]>([])
        let failing = Mutex<String?>(nil)
        let (calls, call) = AsyncStream<Void>.makeStream()
        let (repairs, repair) = AsyncStream<Void>.makeStream()
        try await site.serving(change: { configuration in
            configuration.didApply = { transaction in
                told.withLock { $0.append("\(transaction.account) \(transaction.seq)") }
                let fails = failing.withLock { $0 == transaction.account }
                call.yield()
                if !fails { return }
                // Waits to throw until the test has cleared the failure, so that the next attempt succeeds.
                for await _ in repairs {}
                throw Trouble()
            }
        }) { server, _ async throws in
            let (one, other) = (try await server.signUp(), try await server.signUp("b@example.org"))
            failing.withLock { $0 = one.account }
            var heard = calls.makeAsyncIterator()
            let rows: JSON = ["create": [RowKey.id(1): ["content": "tea"]]]
            _ = try await server.call(one, "todo/set", rows, push: 1)
            await heard.next()
            failing.withLock { $0 = nil }
            repair.finish()
            _ = try await server.call(other, "todo/set", rows, push: 1)
            await heard.next()
            await heard.next()
            let all = told.withLock(\.self)
            #expect(all.filter { $0 == "\(one.account) 1" }.count == 2)
            #expect(all.filter { $0 == "\(other.account) 1" }.count == 1)
        }
    }
}
