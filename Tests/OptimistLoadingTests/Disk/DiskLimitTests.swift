// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import TestForm
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct DiskLimitTests {
    let place = TemporaryFolder()

    @Test(arguments: 0..<TestForm.of(short: 3, full: 8) as Range<UInt64>)
    func `C5 the folder never exceeds the limit, whatever is stored, read and removed`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limits = DiskLimits(sizeBytes: [100_000, 400_000, 2_000_000][Int(seed % 3)], largestEntryBytes: 90_000)
        var caches = [place.cache(limits)]
        var (largest, stored, refused, wrong) = (0, 0, 0, 0)
        for step in 0..<1500 {
            let key = Int.random(in: 0..<200, using: &random)
            let cache = caches[Int.random(in: 0..<caches.count, using: &random)]
            let size = Int.random(in: 0..<10, using: &random) == 0 ? 70_000 + key : key * 40
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                if cache.store(.sample(size: size, seed: UInt64(key)), for: "\(key)") {
                    stored += 1
                } else {
                    refused += 1
                }
            case 6: cache.remove("\(key)")
            default:
                if let found = cache.entry(for: "\(key)"), found != .sample(size: found.bytes.count, seed: UInt64(key))
                {
                    wrong += 1
                }
            }
            largest = max(largest, place.sizeBytes)
            // In half the runs a second cache opens and closes.
            if seed >= 4, step % 200 == 100 { caches.append(place.cache(limits)) }
            if step % 200 == 199 { caches.removeFirst(caches.count - 1) }
        }
        #expect(wrong == 0)
        #expect(largest <= limits.sizeBytes)
        #expect(largest > limits.sizeBytes / 2, "The limit was reached.")
        #expect(stored > 800)
        #expect(refused < 10)
    }

    @Test func `C5 the most recently used entries stay`() {
        let limits = DiskLimits(sizeBytes: 1_000_000)
        let cache = place.cache(limits)
        var missing = 0
        for number in 0..<2000 {
            cache.store(.sample(size: 2000, seed: UInt64(number)), for: "\(number)")
            // Eight entries in separate files are used repeatedly among entries used once.
            if number >= 320, cache.entry(for: "\(number % 8 * 40)") == nil { missing += 1 }
        }
        #expect(missing == 0)
        for number in 1900..<2000 where cache.entry(for: "\(number)") == nil { missing += 1 }
        #expect(missing == 0, "The last hundred entries fit in a quarter of the space.")
        #expect(cache.entry(for: "500") == nil)
        #expect(place.sizeBytes <= limits.sizeBytes)
    }

    @Test func `C5 a smaller limit applies from the first write`() {
        let cache = place.cache()
        for number in 0..<20 { cache.store(.sample(size: 100_000, seed: UInt64(number)), for: "\(number)") }
        let smaller = place.cache(DiskLimits(sizeBytes: 500_000, largestEntryBytes: 200_000))
        #expect(smaller.entry(for: "19") != nil)
        #expect(smaller.store(.sample(size: 100_000, seed: 50), for: "new"))
        #expect(place.sizeBytes <= 500_000)
        #expect(smaller.entry(for: "19") != nil, "This entry was used last.")
        #expect(smaller.entry(for: "0") == nil)
    }

    @Test func `C5 other files in the folder count against the limit, and stay`() throws {
        let cache = place.cache(DiskLimits(sizeBytes: 100_000))
        cache.store(.sample(size: 1000, seed: 1), for: "key")
        place.overwrite(with: ["foreign": Array(repeating: 1, count: 99_000)])
        #expect(!cache.store(.sample(size: 10_000, seed: 2), for: "more"))
        cache.removeAll()
        #expect(place.names == ["foreign"])
    }

    @Test func `C5 replacing one entry repeatedly takes the space of a few entries`() {
        let cache = place.cache(DiskLimits(sizeBytes: 16_000_000))
        for number in 0..<500 { cache.store(.sample(size: 60_000, seed: UInt64(number)), for: "key") }
        #expect(place.sizeBytes <= 2_000_000, "A file without valid entries is deleted at once.")
    }

    @Test func `the number of open files is bounded, and closed files are still read`() {
        let cache = place.cache()
        for number in 0..<200 { cache.store(.sample(size: 66_000, seed: UInt64(number % 4)), for: "\(number)") }
        func openFiles() -> Int { cache.index.withLock { $0.segments.values.count { $0.file != nil } } }
        #expect(openFiles() == DiskIndex.mostOpenFiles)
        for number in 0..<200 where cache.entry(for: "\(number)")?.bytes.count != 66_000 { Issue.record("\(number)") }
        #expect(openFiles() == DiskIndex.mostOpenFiles)
    }
}
