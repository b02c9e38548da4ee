// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@_spi(Internals) @testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct DiskCacheTests {
    let place = TemporaryFolder()

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 1 << 20])
    func `C6 an entry is read back unchanged, from the same cache and from the next one`(size: Int) {
        let entry = DiskEntry.sample(size: size, seed: 1)
        let plain = DiskEntry(bytes: entry.bytes, storedAt: entry.storedAt)
        let cache = place.cache()
        #expect(cache.store(entry, for: "päge/1"))
        #expect(cache.store(plain, for: "plain"))
        #expect(cache.entry(for: "päge/1") == entry)
        #expect(cache.entry(for: "plain") == plain)
        #expect(cache.entry(for: "page/1") == nil)
        let next = place.cache()
        #expect(next.entry(for: "päge/1") == entry)
        #expect(next.entry(for: "plain") == plain)
        #expect(next.counts.hits == 2)
        #expect(next.counts.entries == 2)
    }

    @Test(arguments: [100, 200_000])
    func `C6 a replaced or removed entry does not return when the folder is reopened`(size: Int) {
        let cache = place.cache()
        for version in 1...3 {
            for key in 0..<20 { cache.store(.sample(size: size, seed: UInt64(100 * version + key)), for: "\(key)") }
        }
        for key in 0..<10 { cache.remove("\(key)") }
        for next in [cache, place.cache(), place.cache()] {
            for key in 0..<10 { #expect(next.entry(for: "\(key)") == nil) }
            for key in 10..<20 { #expect(next.entry(for: "\(key)") == .sample(size: size, seed: UInt64(300 + key))) }
        }
    }

    @Test func `C6 a replaced entry stays gone even if a crash prevented clearing its mark`() {
        let cache = place.cache()
        cache.store(.sample(size: 10, seed: 1), for: "key")
        let before = place.contents()
        cache.store(.sample(size: 10, seed: 2), for: "key")
        // As if the system had written the new record but not the old one's cleared mark.
        place.change { name, bytes in
            if let old = before[name] { bytes.replaceSubrange(0..<4, with: old[0..<4]) }
        }
        let next = place.cache()
        #expect(next.entry(for: "key") == .sample(size: 10, seed: 2))
        next.remove("key")
        #expect(place.cache().entry(for: "key") == nil)
    }

    @Test func `C7 a confirmed entry gets its new freshness and keeps its bytes`() {
        let cache = place.cache()
        let entry = DiskEntry.sample(size: 5000, seed: 1)
        cache.store(entry, for: "key")
        place.clock.advance(by: 60)
        var confirmed = entry
        confirmed.storedAt = place.clock.now
        confirmed.expiresAt = place.clock.now + 3600
        confirmed.etag = "\"another\""
        #expect(cache.refresh("key", expiresAt: confirmed.expiresAt, etag: confirmed.etag))
        #expect(!cache.refresh("unknown", expiresAt: nil))
        #expect(cache.entry(for: "key") == confirmed)
        #expect(place.cache().entry(for: "key") == confirmed)
    }

    @Test func `C10 removing everything empties the folder, including other caches' files`() {
        let (cache, other) = (place.cache(), place.cache())
        cache.store(.sample(size: 10, seed: 1), for: "mine")
        other.store(.sample(size: 100_000, seed: 2), for: "theirs")
        _ = cache.entry(for: "theirs")
        cache.removeAll()
        #expect(place.sizeBytes == 0)
        for cache in [cache, other, place.cache()] {
            #expect(cache.entry(for: "mine") == nil)
            #expect(cache.entry(for: "theirs") == nil)
        }
        #expect(other.store(.sample(size: 10, seed: 3), for: "mine"))
        #expect(place.cache().entry(for: "mine") == .sample(size: 10, seed: 3))
    }

    @Test func `C5 an entry unused for too long is a miss`() {
        let cache = place.cache(DiskLimits(sizeBytes: 1_000_000, age: .seconds(1600)))
        cache.store(.sample(size: 10, seed: 1), for: "used")
        cache.store(.sample(size: 10, seed: 2), for: "unused")
        place.clock.advance(by: 1000)
        #expect(cache.entry(for: "used") != nil)
        place.clock.advance(by: 1000)
        let next = place.cache(DiskLimits(sizeBytes: 1_000_000, age: .seconds(1600)))
        for cache in [cache, next] {
            #expect(cache.entry(for: "unused") == nil)
            #expect(cache.entry(for: "used") != nil)
        }
        #expect(
            place.cache(DiskLimits(age: nil)).entry(for: "unused") == nil,
            "The unused entry is removed, not only hidden.")
    }

    @Test func `C5 files with only expired entries are deleted when the next file begins`() {
        let limits = DiskLimits(sizeBytes: 10_000_000, age: .seconds(1600))
        let cache = place.cache(limits)
        for key in 0..<4 { cache.store(.sample(size: 100_000, seed: UInt64(key)), for: "\(key)") }
        place.clock.advance(by: 2000)
        cache.store(.sample(size: 100_000, seed: 5), for: "new")
        #expect(place.sizeBytes < 110_000)
    }

    @Test func `the folder is created at the first write, and only its owner may read it`() throws {
        let cache = place.cache()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        #expect(cache.entry(for: "key") == nil)
        cache.store(.sample(size: 10, seed: 1), for: "key")
        #expect(try place.permissions(of: "") == 0o700)
        for name in place.names { #expect(try place.permissions(of: name) == 0o600) }
    }

    @Test func `a deleted folder is a miss and is recreated by the next write`() throws {
        let cache = place.cache()
        cache.store(.sample(size: 10, seed: 1), for: "small")
        cache.store(.sample(size: 100_000, seed: 2), for: "large")
        try FileManager.default.removeItem(atPath: place.path)
        #expect(cache.entry(for: "small") == nil)
        #expect(cache.entry(for: "large") == nil)
        #expect(cache.store(.sample(size: 10, seed: 3), for: "small"))
        try FileManager.default.removeItem(atPath: place.path)
        #expect(
            cache.store(.sample(size: 10, seed: 4), for: "small"),
            "A write recreates the folder, even without a read in between.")
        #expect(cache.entry(for: "small") == .sample(size: 10, seed: 4))
        #expect(place.cache().entry(for: "small") == .sample(size: 10, seed: 4))
    }

    @Test func `a link, directory or pipe in place of a file is a miss`() throws {
        for (number, kind) in ["link", "directory", "pipe"].enumerated() {
            let cache = place.cache()
            cache.store(.sample(size: 100_000, seed: UInt64(number)), for: kind)
            let file = "\(place.path)/\(place.names.last { $0.hasSuffix(".segment") } ?? "")"
            try FileManager.default.moveItem(atPath: file, toPath: "\(place.path)/moved-\(kind)")
            switch kind {
            case "link": symlink("moved-\(kind)", file)
            case "directory": mkdir(file, 0o700)
            default: mkfifo(file, 0o600)
            }
            // The first cache still has the moved file open; the next one does not.
            #expect(place.cache().entry(for: kind) == nil)
        }
    }

    @Test func `an entry over the limit is not stored, and the entry it would replace is gone`() {
        let cache = place.cache(DiskLimits(sizeBytes: 100_000, largestEntryBytes: 1000))
        #expect(cache.store(.sample(size: 1000, seed: 1), for: "key"))
        #expect(!cache.store(.sample(size: 1001, seed: 2), for: "key"))
        #expect(cache.entry(for: "key") == nil)
        #expect(!place.cache(DiskLimits(sizeBytes: 0)).store(.sample(size: 1, seed: 1), for: "key"))
    }
}
