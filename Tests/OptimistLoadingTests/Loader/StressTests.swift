// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Synchronization
import Testing

@testable import OptimistLoading

/// Many threads at once, and then nothing is left over.
@Suite(.timeLimit(.minutes(5)))
struct StressTests {
    private static let isSoak = ProcessInfo.processInfo.environment["OPTIMIST_SOAK"] != nil

    @Test
    func `C2 C3 C5 whatever eight threads do, in the end nobody waits, nothing is fetched, and the cost is right`()
        async
    {
        let loader = Loader<Int, Int>(
            limits: LoaderLimits(linger: .milliseconds(1), memory: MemoryLimits(costBytes: 5_000, count: 300)),
            cost: { $0 % 50 + 1 }
        ) { fetch in
            fetch.report(0.5)
            if fetch.key % 3 == 0 { for _ in 0..<20 { await Task.yield() } }
            if fetch.key % 7 == 0 { throw Broken() }
            fetch.show(-fetch.key)
            return Fetched(fetch.key, validity: Validity(expiresAt: fetch.key % 5 == 0 ? .distantPast : nil))
        }
        let wrong = Tally()
        let steps = Self.isSoak ? 200_000 : 4_000
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<8 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix64(seed: seed)
                    var tickets: [Ticket] = []
                    let window = PrefetchWindow(loader)
                    for step in 0..<steps {
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
                        case 8: tickets.randomElement(using: &random)?.need(.visible)
                        case 9: if let value = loader.cached(key), value != key { wrong.add() }
                        case 10: loader.store(key, for: key, isSeed: step % 3 == 0)
                        default:
                            switch Int.random(in: 0..<30, using: &random) {
                            case 0: loader.removeAll()
                            case 1...5: loader.remove(key)
                            case 6...9: loader.trim(to: 0.5)
                            default: window.show((key..<key + 8).map { $0 % 500 })
                            }
                        }
                        if tickets.count > 60 { tickets.removeFirst(30) }
                        if step % 64 == 0 { await Task.yield() }
                    }
                }
            }
        }
        // Those that nobody wants any more end by themselves.
        while loader.inspect({ $0.machine.flights.contains { $0 != nil } }) { await Task.yield() }
        #expect(wrong.count == 0)
        loader.inspect { state in
            #expect(state.machine.holders.count == 0)
            #expect(state.machine.lanes.allSatisfy { $0.running == 0 && $0.unseenRunning == 0 })
            #expect(state.machine.memory.cost == state.machine.memory.addedCost)
            #expect(state.machine.memory.cost <= 5_000)
            let values = state.slots.compactMap { $0?.value }
            #expect(values.count == state.machine.memory.count)
            #expect(values.reduce(0) { $0 + $1 % 50 + 1 } == state.machine.memory.cost)
            #expect(state.subscribers.allSatisfy { $0 == nil })
        }
    }
}

private final class Tally: Sendable {
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
}
