// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistLoading
import Synchronization

/// The miss rate, compared with an LRU cache of the same size, on traces drawn from seeds.
struct Eviction: Benchmark {
    static let name = "eviction"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        var ratios: [Double] = []
        for trace in Trace.Kind.allCases {
            for megabytes in [3, 12, 48] {
                var (ours, theirs): ([Double], [Double]) = ([], [])
                for seed in 1...effort.rounds(3) as ClosedRange<Int> {
                    let asks = Trace(trace, length: effort.rows(300_000), seed: UInt64(seed)).asks
                    ours.append(Self.missesOfLoader(asks, costBytes: megabytes << 20))
                    theirs.append(LeastRecentlyUsed.misses(asks, costBytes: megabytes << 20))
                }
                let (our, their) = (ours.reduce(0, +) / Double(ours.count), theirs.reduce(0, +) / Double(theirs.count))
                ratios.append(our / their)
                report(
                    Figure(
                        "misses of a hundred, \(trace) in \(megabytes) MB, seeds 1 to \(ours.count)", .count(our * 100),
                        rival: ("least recently used", .count(their * 100)), ratio: our / their,
                        target: Thresholds.misses))
            }
        }
        let mean = ratios.reduce(0, +) / Double(ratios.count)
        report(
            Figure(
                "misses on average", .count(mean), rival: ("least recently used", .count(1)), ratio: mean,
                target: Thresholds.missesOnAverage))
    }

    private static func missesOfLoader(_ asks: [Trace.Ask], costBytes: Int) -> Double {
        let loader = Loader<Int, Int>(
            limits: LoaderLimits(memory: MemoryLimits(costBytes: costBytes, count: .max)), cost: Trace.cost
        ) { _ in throw CancellationError() }
        var (misses, count) = (0, 0)
        var (near, stored): ([Int: LoadSubscription], Set<Int>) = ([:], [])
        for ask in asks {
            switch ask {
            case .key(let key):
                count += 1
                if loader.cached(key) == nil {
                    misses += 1
                    loader.store(key, for: key)
                    stored.insert(key)
                }
            case .near(let keys):
                for key in near.keys where !keys.contains(key) { near[key] = nil }
                for key in keys where near[key] == nil && stored.contains(key) {
                    let isHere = Flag()
                    let ticket = loader.subscribe(key, priority: .prefetch) { event in
                        if case .value = event { isHere.raise() }
                    }
                    if isHere.isRaised { near[key] = ticket }
                }
            }
        }
        return Double(misses) / Double(count)
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)
    var isRaised: Bool { value.load(ordering: .relaxed) }
    func raise() { value.store(true, ordering: .relaxed) }
}
