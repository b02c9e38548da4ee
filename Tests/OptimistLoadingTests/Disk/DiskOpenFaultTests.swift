// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@_spi(Internals) @testable import OptimistLoading

/// With too many open files, nothing can be listed or opened for a while.
@Suite(.timeLimit(.minutes(20)))
struct DiskOpenFaultTests {
    let place = TemporaryFolder()
    private let fault = DiskFaultTests.Fault()

    private func cache() -> DiskCache { place.cache(openFault: { [fault] in fault() }) }

    private func have(_ keys: String...) {
        let cache = place.cache()
        for key in keys { cache.store(.sample(size: 10, seed: 1), for: key) }
    }

    @Test func `C6 a folder that cannot be listed is not taken for an empty one`() {
        have("a")
        fault.code = EMFILE
        let cache = cache()
        #expect(cache.entry(for: "a") == nil)
        #expect(cache.entry(for: "a") == nil)
        #expect(cache.counts.failedWrites == 1)
        #expect(cache.counts.lastFailure?.code == .cacheUnwritable)
        fault.code = nil
        #expect(cache.entry(for: "a") == .sample(size: 10, seed: 1))
    }

    @Test func `C10 entries removed or replaced while the folder cannot be listed are gone afterwards`() {
        have("removed", "replaced", "kept")
        fault.code = ENFILE
        let cache = cache()
        cache.remove("removed")
        #expect(!cache.store(.sample(size: 10, seed: 2), for: "replaced"))
        fault.code = nil
        #expect(["removed", "replaced"].allSatisfy { cache.entry(for: $0) == nil })
        #expect(cache.entry(for: "kept") != nil)
        #expect(["removed", "replaced"].allSatisfy { place.cache().entry(for: $0) == nil })
    }

    @Test func `C10 if more removals are pending than are remembered, the folder is emptied`() {
        have("a")
        fault.code = EMFILE
        let cache = cache()
        for number in 0...1_000 { cache.remove("\(number)") }
        fault.code = nil
        #expect(cache.entry(for: "a") == nil)
        #expect(place.names.isEmpty)
    }

    @Test(arguments: [EMFILE, EACCES])
    func `C10 removing everything deletes known entries immediately and all other entries before the next lookup`(
        code: CInt
    ) {
        let cache = cache()
        cache.store(.sample(size: 10, seed: 1), for: "mine")
        place.cache().store(.sample(size: 10, seed: 1), for: "theirs")
        fault.code = code
        cache.removeAll()
        #expect(place.cache().entry(for: "mine") == nil)
        #expect(cache.counts.failedWrites == 1)
        #expect(!cache.store(.sample(size: 10, seed: 1), for: "new"))
        fault.code = nil
        #expect(cache.entry(for: "theirs") == nil)
        #expect(place.names.isEmpty)
        place.clock.advance(by: 11)
        #expect(cache.store(.sample(size: 10, seed: 1), for: "new"))
        #expect(place.cache().entry(for: "new") != nil)
    }

    @Test func `C10 a record that cannot be marked is removed with its file`() {
        have("a", "b")
        let cache = cache()
        #expect(cache.counts.entries == 2)
        fault.code = EMFILE
        cache.remove("a")
        #expect(place.cache().entry(for: "a") == nil)
        #expect(cache.entry(for: "a") == nil)
        fault.code = nil
        #expect(cache.entry(for: "b") == nil, "the entry was in the same file")
    }

    @Test func `C5 no entry is evicted while the folder cannot be measured`() {
        let cache = cache()
        cache.store(.sample(size: 100_000, seed: 1), for: "a")
        fault.code = EMFILE
        for number in 0..<60 { cache.store(.sample(size: 100_000, seed: 2), for: "\(number)") }
        #expect(cache.counts.lastFailure != nil)
        #expect(cache.entry(for: "a") != nil)
    }
}
