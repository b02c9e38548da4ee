// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct DiskSharingTests {
    let place = TemporaryFolder()

    /// The seed derives from the key, so each value identifies its key.
    private static func value(_ key: Int, _ version: Int) -> DiskEntry {
        .sample(size: 20 + key * 13 + version % 3 * 100, seed: UInt64(key * 1000 + version))
    }

    private static func isValue(_ entry: DiskEntry, of key: Int) -> Bool {
        (0..<50).contains { entry.bytes == value(key, $0).bytes }  // A confirmation changes the other fields.
    }

    @Test(arguments: 0..<10)
    func `C6 caches that share a folder answer each key with its own values only`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limits = DiskLimits(sizeBytes: 200_000)
        var caches = [place.cache(limits), place.cache(limits)]
        var (hits, wrong) = (0, 0)
        for _ in 0..<1500 {
            let which = Int.random(in: 0..<2, using: &random)
            let (cache, key) = (caches[which], Int.random(in: 0..<30, using: &random))
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let value = Self.value(key, Int.random(in: 0..<50, using: &random))
                if cache.store(value, for: "\(key)") {
                    // A cache finds its own entries unless the other one has removed them.
                    if cache.entry(for: "\(key)") != value { wrong += 1 }
                }
            case 45..<90:
                guard let found = cache.entry(for: "\(key)") else { continue }
                hits += 1
                if !Self.isValue(found, of: key) { wrong += 1 }
            case 90..<96: cache.remove("\(key)")
            case 96..<99: caches[which] = place.cache(limits)
            default:
                cache.removeAll()
                for key in 0..<30 where caches.contains(where: { $0.entry(for: "\(key)") != nil }) { wrong += 1 }
            }
        }
        #expect(wrong == 0)
        #expect(hits > 50)
        #expect(place.sizeBytes <= limits.sizeBytes)
    }

    @Test func `an entry that another cache replaces or removes is a miss here`() {
        let first = place.cache()
        for key in ["replaced", "removed"] { first.store(.sample(size: 10, seed: 1), for: key) }
        let second = place.cache()
        second.store(.sample(size: 10, seed: 2), for: "replaced")
        second.remove("removed")
        #expect(first.entry(for: "replaced") == nil, "Only the other cache has the new entry. This cache may miss.")
        #expect(first.entry(for: "removed") == nil)
        #expect(second.entry(for: "replaced") == .sample(size: 10, seed: 2))
    }

    @Test func `C6 concurrent threads find what they stored`() {
        let limits = DiskLimits(sizeBytes: 600_000)
        let caches = [place.cache(limits), place.cache(limits)]
        let counts = Mutex((hits: 0, wrong: 0))
        let place = place
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            var random = SplitMix64(seed: UInt64(thread))
            let cache = caches[thread % 2]
            var (hits, wrong) = (0, 0)
            for step in 0..<400 {
                // Half of the keys belong to one thread; the others are shared.
                let key = step % 2 == 0 ? 100 + thread * 10 + step % 10 : Int.random(in: 0..<20, using: &random)
                switch Int.random(in: 0..<100, using: &random) {
                case 0..<40: cache.store(Self.value(key, step % 50), for: "\(key)")
                case 40..<94:
                    guard let found = cache.entry(for: "\(key)") else { continue }
                    hits += 1
                    if !Self.isValue(found, of: key) { wrong += 1 }
                case 94..<96: cache.refresh("\(key)", expiresAt: nil)
                case 96..<98: cache.remove("\(key)")
                case 98: if place.sizeBytes > limits.sizeBytes { wrong += 1 }
                default: if step % 8 == 0 { cache.removeAll() }
                }
            }
            counts.withLock { counts in
                counts.hits += hits
                counts.wrong += wrong
            }
        }
        #expect(counts.withLock { $0.wrong } == 0)
        #expect(counts.withLock { $0.hits } > 0)
        for cache in caches { #expect(cache.counts.damagedEntries == 0) }
    }

    @Test func `C6 everything that one cache's threads store is found afterwards`() {
        let cache = place.cache()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for step in 0..<50 { cache.store(Self.value(thread * 50 + step, 0), for: "\(thread * 50 + step)") }
        }
        var wrong = 0
        for cache in [cache, place.cache()] {
            for key in 0..<400 where cache.entry(for: "\(key)") != Self.value(key, 0) { wrong += 1 }
        }
        #expect(wrong == 0)
    }
}
