// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistLoading
import Synchronization

/// The lookup of a value in memory, compared with a dictionary with a lock and the system's cache.
struct MemoryHits: Benchmark {
    static let name = "memory-hits"
    let effort: Effort

    private let keys = (0..<1_000).map { "https://example.org/pictures/\($0).jpg" }
    private static let rounds = 100

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let loader = Loader<String, Int> { _ in Fetched(0) }
        let (plain, system) = (Locked(), SystemCache())
        for (number, key) in keys.enumerated() {
            loader.store(number, for: key)
            plain.values.withLock { $0[key] = number }
            system.store(number, for: key)
        }
        for threads in [1, 2] {
            let hits = { times(threads) { loader.cached($0) ?? 0 } }
            let floor = { times(threads) { key in plain.values.withLock { $0[key] ?? 0 } } }
            let pair = try await Paired(rounds: effort.rounds(30), subject: hits, rival: floor)
            let name = threads == 1 ? "a value in memory" : "a value in memory, two threads at once"
            report(Figure(name, pair, rival: "a dictionary and a lock", target: Thresholds.memoryHit))
            report(Figure("\(name), by NSCache", .time(Samples(times(threads) { system.value(for: $0) ?? 0 }))))
        }
        var awaited: [Double] = []
        for _ in 0..<effort.rounds(30) { awaited.append(try await onTheMainActor(loader)) }
        report(Figure("a value in memory, awaited", .time(Samples(awaited)), target: Thresholds.awaitedHit))
    }

    /// Returns the average time of a lookup, per thread.
    private func times(_ threads: Int, _ look: @escaping @Sendable (String) -> Int) -> [Double] {
        let keys = keys
        let rounds = effort.isQuick ? 2 : Self.rounds
        let start = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            var sum = 0
            for _ in 0..<rounds { for key in keys { sum &+= look(key) } }
            precondition(sum == rounds * keys.count * (keys.count - 1) / 2)
        }
        return [(ContinuousClock.now - start) / .seconds(1) / Double(rounds * keys.count)]
    }

    @MainActor
    private func onTheMainActor(_ loader: Loader<String, Int>) async throws -> Double {
        let start = ContinuousClock.now
        var sum = 0
        for _ in 0..<Self.rounds { for key in keys { sum &+= try await loader.value(for: key) } }
        precondition(sum == Self.rounds * keys.count * (keys.count - 1) / 2)
        return (ContinuousClock.now - start) / .seconds(1) / Double(Self.rounds * keys.count)
    }
}

private final class Locked: Sendable {
    let values = Mutex<[String: Int]>([:])
}

/// > Note: `NSCache` is thread-safe, but is not marked as `Sendable` on every system.
private final class SystemCache: @unchecked Sendable {
    private let cache = NSCache<NSString, NSNumber>()

    func store(_ value: Int, for key: String) { cache.setObject(NSNumber(value: value), forKey: NSString(string: key)) }
    func value(for key: String) -> Int? { cache.object(forKey: NSString(string: key))?.intValue }
}
