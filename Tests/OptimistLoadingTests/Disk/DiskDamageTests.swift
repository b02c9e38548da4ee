// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import TestForm
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

/// Whatever happens to the files, a key gets its own value or none.
@Suite(.timeLimit(.minutes(20)))
struct DiskDamageTests {
    enum Damage: CaseIterable {
        case flippedBit, truncated, zeroed, swappedRanges, swappedFiles, appended, garbage, repeatedRange
    }

    @Test(arguments: 0..<TestForm.of(short: 2, full: 20) as Range<UInt64>)
    func `C6 a randomly damaged entry is a miss or the right value`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let place = TemporaryFolder()
        var values: [String: DiskEntry] = [:]
        // So small that there are several files, one with a single entry.
        let limits = DiskLimits(sizeBytes: 64_000, largestEntryBytes: 64_000)
        let sizes = [0, 1, 10, 100, 300, 5000]
        let writer = place.cache(limits)
        for number in 0..<18 {
            // Replaces some keys and removes others.
            let key = "key-\(number % 15)"
            let entry = DiskEntry.sample(
                size: sizes[number % 6] / (1 + number / 6), seed: seed &* 100 &+ UInt64(number))
            writer.store(entry, for: key)
            values[key] = entry
        }
        for key in ["key-3", "key-9"] {
            writer.remove(key)
            values[key] = nil
        }
        let sound = place.contents()
        var (misses, hits, wrong, damaged) = (0, 0, 0, 0)
        for round in 0..<500 {
            // In half the runs the files change under a cache that has them open.
            place.replace(with: sound)
            let cache = place.cache(limits)
            if round % 2 == 0 { for key in values.keys { _ = cache.entry(for: key) } }
            place.overwrite(with: Self.damaged(sound, using: &random))
            for key in (0..<16).map({ "key-\($0)" }) {
                let found = cache.entry(for: key)
                if let found, found != values[key] { wrong += 1 }
                if values[key] != nil { if found == nil { misses += 1 } else { hits += 1 } }
                // A record once found damaged stays a miss.
                if found == nil, cache.entry(for: key) != nil { wrong += 1 }
            }
            damaged += cache.counts.damagedEntries
            if round % 10 == 0, !cache.store(.sample(size: 50, seed: 1), for: "new") { wrong += 1 }
            if round % 10 == 0, cache.entry(for: "new") != .sample(size: 50, seed: 1) { wrong += 1 }
        }
        #expect(wrong == 0)
        #expect(misses > 500, "There are too few misses: \(misses) misses, \(hits) hits.")
        #expect(hits > 500)
        #expect(damaged > 100, "Checksums found some of the damage.")
    }

    @Test func `C6 a crash at any byte of a write loses only that write`() {
        let place = TemporaryFolder()
        let writer = place.cache()
        let (first, second) = (DiskEntry.sample(size: 40, seed: 1), DiskEntry.sample(size: 90, seed: 2))
        writer.store(first, for: "first")
        let firstEnd = writer.counts.bytes
        writer.store(second, for: "second")
        let secondEnd = writer.counts.bytes
        let whole = place.contents()
        var wrong = 0
        for end in 0...secondEnd {
            // The file may or may not have been extended before it was filled.
            for isZeroed in [false, true] {
                place.replace(
                    with: whole.mapValues { bytes in
                        Array(bytes.prefix(end)) + (isZeroed ? Array(repeating: 0, count: 300) : [])
                    })
                let cache = place.cache()
                if cache.entry(for: "first") != (end >= firstEnd ? first : nil) { wrong += 1 }
                if cache.entry(for: "second") != (end >= secondEnd ? second : nil) { wrong += 1 }
                cache.store(second, for: "first")
                let next = place.cache()
                if next.entry(for: "first") != second { wrong += 1 }
                if next.entry(for: "second") != (end >= secondEnd ? second : nil) { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    @Test func `C6 a record is compared by its complete key and its stamp, in case two keys share a digest`() throws {
        let place = TemporaryFolder()
        let cache = place.cache()
        cache.store(.sample(size: 40, seed: 1), for: "key")
        var record = try #require(cache.index.withLock { $0.places[XXH64.hash("key")] })
        let name = try #require(place.names.first)
        let file = try cache.folder.open(name).get()
        guard case .sound = file.record(at: record, for: "key") else {
            Issue.record("It is sound.")
            return
        }
        guard case .ofAnotherKey = file.record(at: record, for: "kez") else {
            Issue.record("Another key.")
            return
        }
        record.stamp += 1
        guard case .damaged = file.record(at: record, for: "key") else {
            Issue.record("Another record.")
            return
        }
    }

    @Test func `C6 unused space after a crash is freed once no process can be writing to the file`() throws {
        let place = TemporaryFolder()
        place.cache().store(.sample(size: 40, seed: 1), for: "key")
        let used = place.sizeBytes
        place.change { _, bytes in bytes += Array(repeating: 0, count: 100_000) }
        _ = place.cache().counts
        #expect(place.sizeBytes == used + 100_000, "The file was written a moment ago.")
        for name in place.names {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -4000)], ofItemAtPath: "\(place.path)/\(name)")
        }
        #expect(place.cache().entry(for: "key") == .sample(size: 40, seed: 1))
        #expect(place.sizeBytes == used)
    }

    private static func damaged(
        _ files: [String: [UInt8]], using random: inout SplitMix64
    ) -> [String: [UInt8]] {
        var files = files
        let names = files.keys.sorted()
        func range(in bytes: [UInt8], upTo most: Int, using random: inout SplitMix64) -> Range<Int> {
            guard !bytes.isEmpty else { return 0..<0 }
            let start = Int.random(in: 0..<bytes.count, using: &random)
            return start..<min(bytes.count, start + Int.random(in: 1...most, using: &random))
        }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let name = names[Int.random(in: 0..<names.count, using: &random)]
            let other = names[Int.random(in: 0..<names.count, using: &random)]
            guard var bytes = files[name], !bytes.isEmpty else { continue }
            switch Damage.allCases.randomElement(using: &random) ?? .zeroed {
            case .flippedBit:
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case .truncated: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
            case .zeroed:
                for index in range(in: bytes, upTo: 600, using: &random) { bytes[index] = 0 }
            case .swappedRanges:
                let count = Int.random(in: 1...min(bytes.count, 2000), using: &random)
                let first = Int.random(in: 0...bytes.count - count, using: &random)
                let second = Int.random(in: 0...bytes.count - count, using: &random)
                let copy = bytes
                bytes.replaceSubrange(second..<second + count, with: copy[first..<first + count])
                bytes.replaceSubrange(first..<first + count, with: copy[second..<second + count])
            case .swappedFiles:
                files[name] = files[other]
                files[other] = bytes
                continue
            case .appended: bytes += (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
            case .garbage:
                for index in range(in: bytes, upTo: 300, using: &random) {
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                }
            case .repeatedRange:
                let copied = range(in: bytes, upTo: 500, using: &random)
                bytes.insert(contentsOf: bytes[copied], at: Int.random(in: 0...bytes.count, using: &random))
            }
            files[name] = bytes
        }
        return files
    }
}
