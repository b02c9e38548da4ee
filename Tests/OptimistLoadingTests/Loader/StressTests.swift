// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import TestForm
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

/// Many threads use a loader, and nothing is left over.
@Suite(.timeLimit(.minutes(20)))
struct StressTests {
    private let folder = TemporaryFolder()

    /// A loader with every option, or with as few as possible.
    private func loader(isWhole: Bool) -> Loader<Int, Int> {
        let tier = DiskTier<Int, Int>(
            folder.cache(DiskLimits(sizeBytes: 60_000)), name: { "\($0)" },
            decode: { Int(String(decoding: $0, as: UTF8.self)) ?? 0 },
            encode: { $0 % 4 == 0 ? nil : Array("\($0)".utf8) })
        let memory = MemoryLimits(costBytes: 5_000, count: 300, age: isWhole ? .milliseconds(5) : nil)
        let limits = LoaderLimits(
            interval: isWhole ? .microseconds(20) : nil, linger: .milliseconds(1), memory: memory)
        let lane: @Sendable (Int) -> String = { isWhole ? "\($0 % 3)" : "" }
        let pause: Duration? = isWhole ? .milliseconds(1) : nil
        return Loader<Int, Int>(
            limits: limits, disk: isWhole ? tier : nil, group: lane, cost: { $0 % 50 + 1 }, failureTTL: { _ in pause }
        ) { fetch in
            fetch.report(0.5)
            if fetch.key % 3 == 0 { for _ in 0..<20 { await Task.yield() } }
            if fetch.key % 7 == 0 { throw Broken() }
            fetch.show(-fetch.key)
            let validity = Validity(expiresAt: fetch.key % 5 == 0 ? .distantPast : nil)
            let isUnchanged = fetch.previous != nil && fetch.key % 2 == 0
            return isUnchanged ? .unchanged(validity) : Fetched(fetch.key, validity: validity)
        }
    }

    /// One thread's actions.
    private static func use(
        _ loader: Loader<Int, Int>, _ seed: UInt64, _ wrong: Tally, until isOver: (_ step: Int) -> Bool
    ) {
        var random = SplitMix64(seed: seed)
        var tickets: [LoadSubscription] = []
        let window = PrefetchWindow(loader)
        var step = 0
        while !isOver(step) {
            step += 1
            let key = Int.random(in: 0..<500, using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0...4:
                let priority = LoadPriority.allCases.randomElement(using: &random) ?? .visible
                let freshness = [Freshness.cached, .cachedThenRefreshed, .fresh]
                    .randomElement(using: &random)
                let ticket = loader.subscribe(key, priority: priority, freshness: freshness ?? .cached) {
                    if case .value(let value, _) = $0, value != key { wrong.add() }
                }
                tickets.append(ticket)
            case 5...7:
                if let index = tickets.indices.randomElement(using: &random) { tickets.remove(at: index) }
            case 8: tickets.randomElement(using: &random)?.setPriority(.visible)
            case 9: if let value = loader.cached(key), value != key { wrong.add() }
            case 10: loader.store(key, for: key, isSeed: step % 3 == 0)
            default:
                switch Int.random(in: 0..<30, using: &random) {
                case 0: loader.removeAll()
                case 1...5: loader.remove(key)
                case 6...9: loader.trim(to: 0.5)
                default: window.setVisible((key..<key + 8).map { $0 % 500 })
                }
            }
            if tickets.count > 60 { tickets.removeFirst(30) }
        }
    }

    @Test(arguments: [false, true])
    func `C2 C3 C5 whatever eight threads do, at the end no holder or fetch is left and the cost is right`(
        isWhole: Bool
    ) async {
        let loader = loader(isWhole: isWhole)
        let wrong = Tally()
        let isOver: @Sendable (Int) -> Bool = { $0 >= TestForm.of(short: 1_000, full: 4_000, soak: 100_000) }
        let left = Mutex(8)
        await withCheckedContinuation { continuation in
            for seed in 0..<8 as Range<UInt64> {
                Thread.detachNewThread {
                    Self.use(loader, seed, wrong, until: isOver)
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { continuation.resume() }
                }
            }
        }
        // Fetches without holders end on their own.
        while loader.inspect({ $0.machine.flights.contains { $0 != nil } }) { await Task.yield() }
        #expect(wrong.count == 0)
        // Former seeds are ordinary values now.
        for key in 0..<500 where loader.cached(key) != nil { loader.store(key, for: key) }
        loader.inspect { state in
            #expect(state.machine.holders.count == 0)
            #expect(state.machine.lanes.allSatisfy { $0.running == 0 && $0.unseenRunning == 0 && $0.flights == 0 })
            #expect(state.machine.memory.cost == state.machine.memory.addedCost)
            #expect(state.machine.memory.cost <= 5_000)
            let values = state.slots.all.compactMap(\.element.value)
            #expect(values.count == state.machine.memory.count)
            #expect(values.reduce(0) { $0 + $1 % 50 + 1 } == state.machine.memory.cost)
            #expect(state.subscribers.allSatisfy { $0 == nil })
        }
        guard isWhole else { return }
        // A thread's last action may have removed everything.
        loader.store(1, for: 1)
        await loader.disk?.settled()
        let kept = (0..<500).compactMap { key in
            folder.cache().entry(for: "\(key)").map { (key, String(decoding: $0.bytes, as: UTF8.self)) }
        }
        #expect(!kept.isEmpty)
        #expect(kept.allSatisfy { "\($0)" == $1 })
        loader.removeAll()
        #expect((0..<500).allSatisfy { folder.cache().entry(for: "\($0)") == nil })
    }
}

private final class Tally: Sendable {
    private let number = Mutex(0)
    var count: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
}
