// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

struct Trace {
    enum Ask {
        case key(Int)
        /// The items that are near the screen.
        case near(ClosedRange<Int>)
    }

    enum Kind: String, CaseIterable {
        /// A feed that is scrolled down, with flicks back, eight prefetched items, and pictures of authors.
        case feed
        /// Items requested with a Zipf distribution.
        case zipf
        /// The same, with long runs of items that are requested once.
        case scan
    }

    let asks: [Ask]

    init(_ kind: Kind, length: Int, seed: UInt64) {
        var random = SplitMix64(seed: seed)
        asks =
            switch kind {
            case .feed: Self.feed(length, &random)
            case .zipf: Self.zipf(20_000, length, &random).map { .key($0) }
            case .scan: Self.scan(length, &random)
            }
    }

    /// From 20 to 80 kB.
    static func cost(_ key: Int) -> Int {
        var random = SplitMix64(seed: UInt64(truncatingIfNeeded: key) &* 0x9E37_79B9_7F4A_7C15)
        return Int.random(in: 20_000..<80_000, using: &random)
    }

    private static func feed(_ length: Int, _ random: inout SplitMix64) -> [Ask] {
        var asks: [Ask] = []
        var position = 0
        while asks.count < length {
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.95: position += 1
            case ..<0.98: position = max(0, position - Int.random(in: 3...40, using: &random))
            case ..<0.9803: position = 0
            default: position += Int.random(in: 5...20, using: &random)
            }
            asks.append(.key(position))
            asks.append(.near(position...position + 8))
            asks.append(.key(1_000_000 + Int(50 * pow(Double.random(in: 0..<1, using: &random), 2))))
            for ahead in 1...8 where Double.random(in: 0..<1, using: &random) < 0.3 {
                asks.append(.key(position + ahead))
            }
        }
        return asks
    }

    private static func zipf(_ things: Int, _ length: Int, _ random: inout SplitMix64) -> [Int] {
        var sums: [Double] = []
        for thing in 1...things { sums.append((sums.last ?? 0) + 1 / pow(Double(thing), 0.9)) }
        return (0..<length).map { _ in
            let draw = Double.random(in: 0..<(sums.last ?? 1), using: &random)
            var range = 0..<things - 1
            while !range.isEmpty {
                let middle = (range.lowerBound + range.upperBound) / 2
                range = sums[middle] < draw ? middle + 1..<range.upperBound : range.lowerBound..<middle
            }
            return range.lowerBound
        }
    }

    private static func scan(_ length: Int, _ random: inout SplitMix64) -> [Ask] {
        let common = zipf(3_000, length, &random)
        var asks: [Ask] = []
        var (next, passage) = (0, 10_000_000)
        while asks.count < length {
            if Double.random(in: 0..<1, using: &random) < 0.0008 {
                asks += (passage..<passage + 400).map { .key($0) }
                passage += 400
            } else {
                asks.append(.key(common[next]))
                next += 1
            }
        }
        return asks
    }
}

/// An LRU cache.
struct LeastRecentlyUsed {
    private var uses: [Int: Int] = [:]
    /// Sorted by use. Outdated entries are skipped.
    private var queue: [(key: Int, use: Int)] = []
    private var start = 0
    private var cost = 0
    private var now = 0

    static func misses(_ asks: [Trace.Ask], costBytes: Int) -> Double {
        var cache = LeastRecentlyUsed()
        var (misses, count) = (0, 0)
        for case .key(let key) in asks {
            count += 1
            if !cache.use(key, costBytes) { misses += 1 }
        }
        return Double(misses) / Double(count)
    }

    /// Returns whether the key was cached.
    private mutating func use(_ key: Int, _ limit: Int) -> Bool {
        now += 1
        let isHere = uses.updateValue(now, forKey: key) != nil
        queue.append((key, now))
        if !isHere { cost += Trace.cost(key) }
        while cost > limit {
            let (oldest, use) = queue[start]
            start += 1
            guard uses[oldest] == use else { continue }
            uses[oldest] = nil
            cost -= Trace.cost(oldest)
        }
        return isHere
    }
}
