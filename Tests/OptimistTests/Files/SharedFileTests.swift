// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import Optimist
@testable import OptimistWire

struct SharedFileTests {
    /// A process: its knowledge of the file, its clock and its time of day.
    private struct Writer {
        var known = SharedFile(version: 0, ceiling: .zero)
        var clock = HybridClock()
        var skew: Int64

        /// Commits a transaction, as `Store` does. Returns the transaction's stamp, or nil if the transaction only saw
        /// a stamp.
        mutating func commit(_ file: inout (version: Int64, ceiling: Stamp), at milliseconds: Int64, seen: Stamp?)
            -> Stamp?
        {
            let now = milliseconds + skew
            if known.version != file.version {
                clock = HybridClock(last: file.ceiling)
                known.meet(version: file.version, ceiling: file.ceiling, at: now)
            }
            let stamp = seen == nil ? clock.tick(milliseconds: now) : nil
            if let seen { clock.witness(seen) }
            if let ceiling = known.raise(for: clock.last, at: now) { file.ceiling = ceiling }
            return stamp
        }
    }

    @Test(arguments: 1...50)
    func `W4 stamps only grow and stay near the time of day, in any order of writing processes`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var file = (version: Int64(0), ceiling: Stamp.zero)
        var writers = [0, -3_600_000, 700].map { Writer(skew: $0) }
        var last = Stamp.zero
        var now: Int64 = 1_790_000_000_000
        var previous: Int?
        for _ in 0..<2_000 {
            now += Int64.random(in: 0...(Bool.random(using: &random) ? 3 : 4_000), using: &random)
            let number = Int.random(in: 0..<3, using: &random)
            // For each connection, SQLite counts the commits of the other connections.
            if previous != number { file.version += 1 }
            previous = number
            let seen = Int.random(in: 0..<10, using: &random) == 0 ? last.successor : nil
            let stamp = writers[number].commit(&file, at: now, seen: seen)
            if let stamp { #expect(stamp > last) }
            last = max(last, stamp ?? .zero, seen ?? .zero)
            #expect(file.ceiling >= last)
            #expect(last.milliseconds <= now + 700 + SharedFile.lead)
        }
    }

    /// A launch that starts at the file's ceiling and writes a few times.
    private func launch(
        on file: inout Stamp, at milliseconds: Int64, seen: Stamp? = nil, writes: Int = 1
    ) -> (stamps: [Stamp], raised: Int) {
        var (known, clock) = (SharedFile(version: 0, ceiling: file), HybridClock(last: file))
        if let seen { clock.witness(seen) }
        var (stamps, raised): ([Stamp], Int) = ([], 0)
        for _ in 0..<writes {
            stamps.append(clock.tick(milliseconds: milliseconds))
            guard let ceiling = known.raise(for: clock.last, at: milliseconds) else { continue }
            file = ceiling
            raised += 1
        }
        return (stamps, raised)
    }

    @Test(arguments: [0, 1, 20, 100, 700])
    func `W4 a hundred launches in a row stay within two seconds of the time of day`(pause: Int64) {
        var (file, last, now) = (Stamp.zero, Stamp.zero, Int64(1_790_000_000_000))
        for _ in 0..<100 {
            now += pause
            for stamp in launch(on: &file, at: now, writes: 3).stamps {
                #expect(stamp > last)
                last = stamp
            }
            #expect(file >= last, "whatever ends the launch")
            #expect(last.milliseconds <= now + 2_000)
            #expect(file.milliseconds <= now + 2_000)
        }
    }

    @Test func `W4 after a stamp ahead of the clock was seen, launches add almost nothing to the clock`() {
        var file = Stamp.zero
        let now: Int64 = 1_790_000_000_000
        let ahead = Stamp(milliseconds: now + 3_600_000)
        #expect(launch(on: &file, at: now, seen: ahead).stamps == [ahead.successor])
        var last = ahead
        for _ in 0..<100 {
            let (stamps, raised) = launch(on: &file, at: now, writes: 500)
            for stamp in stamps {
                #expect(stamp > last)
                last = stamp
            }
            #expect(raised == 1, "few writes raise the file's ceiling")
        }
        #expect(last.milliseconds <= ahead.milliseconds + 3)
    }
}
