// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

/// Injects error numbers before writes, because a test cannot fill a disk and root may write anywhere.
@Suite(.timeLimit(.minutes(20)))
struct DiskFaultTests {
    let place = TemporaryFolder()

    final class Fault: Sendable {
        private let state = Mutex((code: nil as CInt?, asked: 0))
        var code: CInt? {
            get { state.withLock { $0.code } }
            set { state.withLock { $0.code = newValue } }
        }
        var asked: Int { state.withLock { $0.asked } }
        func callAsFunction() -> CInt? {
            state.withLock { state in
                state.asked += 1
                return state.code
            }
        }
    }

    @Test func `C6 on a full disk nothing is stored, reads still work, and the counts say what to do`() {
        let fault = Fault()
        let cache = place.cache(fault: { fault() })
        cache.store(.sample(size: 10, seed: 1), for: "kept")
        cache.store(.sample(size: 10, seed: 1), for: "replaced")
        fault.code = ENOSPC
        #expect(!cache.store(.sample(size: 10, seed: 2), for: "replaced"))
        #expect(cache.entry(for: "kept") == .sample(size: 10, seed: 1))
        #expect(cache.entry(for: "replaced") == nil, "The old value would be mistaken for the new one.")
        #expect(place.cache().entry(for: "replaced") == nil)
        #expect(cache.counts.failedWrites == 1)
        #expect(cache.counts.lastFailure?.code == .diskFull)
        #expect(cache.counts.lastFailure?.remedy == .freeSpace)
    }

    @Test func `C6 after a failure, writes pause for ten seconds and are then retried`() {
        let fault = Fault()
        let cache = place.cache(fault: { fault() })
        cache.store(.sample(size: 10, seed: 1), for: "key")
        fault.code = EROFS
        cache.store(.sample(size: 10, seed: 2), for: "key")
        let asked = fault.asked
        place.clock.advance(by: 9)
        for size in [10, 100_000] { #expect(!cache.store(.sample(size: size, seed: 3), for: "key")) }
        #expect(fault.asked == asked)
        #expect(cache.counts.lastFailure?.code == .cacheUnwritable)
        #expect(cache.counts.lastFailure?.remedy == .retry(after: .seconds(10)))
        fault.code = nil
        place.clock.advance(by: 2)
        #expect(cache.store(.sample(size: 10, seed: 4), for: "key"))
        #expect(place.cache().entry(for: "key") == .sample(size: 10, seed: 4))
    }

    @Test func `a clock that is set back does not prolong the pause`() {
        let fault = Fault()
        let cache = place.cache(fault: { fault() })
        fault.code = ENOSPC
        cache.store(.sample(size: 10, seed: 1), for: "key")
        fault.code = nil
        place.clock.advance(by: -86_400)
        #expect(cache.store(.sample(size: 10, seed: 2), for: "key"))
        #expect(cache.entry(for: "key") == .sample(size: 10, seed: 2))
    }

    @Test func `C7 a confirmation that cannot be written leaves the entry unchanged`() {
        let fault = Fault()
        let cache = place.cache(fault: { fault() })
        cache.store(.sample(size: 10, seed: 1), for: "key")
        fault.code = ENOSPC
        #expect(!cache.refresh("key", expiresAt: nil))
        #expect(cache.entry(for: "key") == .sample(size: 10, seed: 1))
    }

    @Test func `a file in place of the folder is reported and left alone`() {
        place.replace(with: ["file": [1, 2, 3]])
        let cache = DiskCache(at: URL(fileURLWithPath: "\(place.path)/file"))
        #expect(cache.entry(for: "key") == nil)
        #expect(!cache.store(.sample(size: 10, seed: 1), for: "key"))
        cache.removeAll()
        #expect(cache.counts.lastFailure?.code == .cacheUnwritable)
        #expect(place.contents() == ["file": [1, 2, 3]])
    }
}
