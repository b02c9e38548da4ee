// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import TestForm
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct MemoryQueueTests {
    /// The expected contents of the queue, from its own reports.
    private struct Books {
        var queue: MemoryQueue
        var costs: [Int: Int] = [:]
        /// Oldest first.
        var seeds: [Int] = []
        private var seedCosts: [Int: Int] = [:]
        private let limits: MemoryLimits

        init(_ limits: MemoryLimits) {
            queue = MemoryQueue(limits)
            self.limits = limits
        }

        mutating func store(
            _ place: Int, cost: Int, isUnseen: Bool = false, isSeed: Bool = false
        ) -> MemoryQueue.Released {
            costs[place] = isSeed ? nil : cost
            let released = queue.store(
                place, hash: place, cost: cost, at: .zero, isUnseen: isUnseen, isSeed: isSeed)
            seeds.removeAll { $0 == place }
            if isSeed {
                seeds.append(place)
                seedCosts[place] = cost
            }
            while seeds.count > limits.count {
                let former = seeds.removeFirst()
                costs[former] = seedCosts[former]
            }
            forget(released)
            if !queue.has(place, at: .zero) { costs[place] = nil }
            return released
        }

        mutating func forget(_ released: MemoryQueue.Released) {
            for place in released.places {
                costs[place] = nil
                seeds.removeAll { $0 == place }
            }
        }
    }

    @Test(arguments: 1...TestForm.of(short: 8, full: 40))
    func `C5 cost and count are never exceeded, and the books agree with the queue`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limits = MemoryLimits(
            costBytes: Int.random(in: 0...500, using: &random), count: Int.random(in: 0...30, using: &random))
        var books = Books(limits)
        var pins: [MemoryQueue.Pin] = []
        for _ in 0..<2_000 {
            let place = Int.random(in: 0..<60, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4:
                let isSeed = Int.random(in: 0..<10, using: &random) == 0
                _ = books.store(place, cost: Int.random(in: 0...80, using: &random), isSeed: isSeed)
            case 5...6: if books.queue.has(place, at: .zero) { books.queue.use(place) }
            case 7: if let pin = books.queue.pin(place) { pins.append(pin) }
            case 8:
                if let index = pins.indices.randomElement(using: &random) { books.queue.unpin(pins.remove(at: index)) }
            default:
                switch Int.random(in: 0..<20, using: &random) {
                case 0: books.forget(books.queue.removeAll())
                case 1: books.forget(books.queue.trim(to: Double.random(in: 0...1, using: &random)))
                default: books.forget(books.queue.remove(place))
                }
            }
            #expect(books.queue.cost <= limits.costBytes)
            #expect(books.queue.count <= limits.count)
            #expect(books.queue.cost == books.queue.addedCost)
            #expect(books.queue.cost == books.costs.values.reduce(0, +))
            #expect(books.queue.count == books.costs.count)
            #expect(books.queue.seedCount == books.seeds.count)
            #expect(books.seeds.allSatisfy { books.queue.has($0, at: .zero) })
        }
    }

    @Test func `C5 values expire by the time of their last store, and seeds do not expire`() {
        var queue = MemoryQueue(MemoryLimits(costBytes: 100, count: 100, age: .seconds(10)))
        for place in 0..<4 {
            _ = queue.store(
                place, hash: place, cost: 1, at: .seconds(place), isUnseen: false, isSeed: place == 2)
        }
        _ = queue.store(0, hash: 0, cost: 1, at: .seconds(5), isUnseen: false)
        let gone = [12, 15, 16].map { queue.expire(at: .seconds($0)).places }
        #expect(gone == [[1], [3], [0]])
        #expect(queue.has(2, at: .seconds(16)))
    }

    @Test func `C5 values used again stay, and values used once are evicted`() {
        var books = Books(MemoryLimits(costBytes: 100, count: 1_000))
        for place in 0..<50 { _ = books.store(place, cost: 1) }
        for place in 0..<20 { books.queue.use(place) }
        for place in 100..<1_000 { _ = books.store(place, cost: 1) }
        #expect((0..<20).allSatisfy { books.queue.has($0, at: .zero) })
        #expect(!(20..<50).contains { books.queue.has($0, at: .zero) })
    }

    @Test func `C5 values used again stay even if the count is the limit`() {
        var books = Books(MemoryLimits(costBytes: 1 << 20, count: 100))
        for place in 0..<50 { _ = books.store(place, cost: 1) }
        for place in 0..<20 { books.queue.use(place) }
        for place in 100..<1_000 { _ = books.store(place, cost: 1) }
        #expect((0..<20).allSatisfy { books.queue.has($0, at: .zero) })
        #expect(!(20..<50).contains { books.queue.has($0, at: .zero) })
    }

    @Test(arguments: [1, .infinity, .nan, -1])
    func `a queue can be trimmed to any share`(share: Double) {
        var books = Books(MemoryLimits(costBytes: .max, count: .max))
        _ = books.store(1, cost: 1)
        _ = books.queue.trim(to: share)
        #expect(books.queue.count == (share >= 1 ? 1 : 0))
    }

    @Test func `C5 the first use of a prefetched value does not keep it longer`() {
        var books = Books(MemoryLimits(costBytes: 100, count: 1_000))
        for place in 0..<100 {
            _ = books.store(place, cost: 1)
            if place >= 50 { books.queue.use(place) }
        }
        for place in 100..<200 { _ = books.store(place, cost: 1) }
        #expect(!(50..<90).contains { books.queue.has($0, at: .zero) })
    }

    @Test func `C5 a value that returns soon after its eviction stays longer the next time`() {
        var books = Books(MemoryLimits(costBytes: 100, count: 1_000))
        for place in 0..<110 { _ = books.store(place, cost: 1) }
        #expect(!books.queue.has(0, at: .zero))
        _ = books.store(0, cost: 1)
        for place in 200..<290 { _ = books.store(place, cost: 1) }
        #expect(books.queue.has(0, at: .zero))
    }

    @Test func `prefetched bytes that were never shown are counted when they are evicted`() {
        var books = Books(MemoryLimits(costBytes: 10, count: 10))
        for place in 0..<10 { _ = books.store(place, cost: 1, isUnseen: true) }
        for place in 0..<5 { books.queue.use(place) }
        #expect(books.queue.trim(to: 0).unseenBytes == 5)
    }

    @Test func `a value replaced before it was shown counts as unseen, and its replacement counts separately`() {
        var books = Books(MemoryLimits(costBytes: 10, count: 10))
        _ = books.store(1, cost: 4, isUnseen: true)
        #expect(books.store(1, cost: 3).unseenBytes == 4)
        #expect(books.store(1, cost: 2, isUnseen: true).unseenBytes == 0)
        #expect(books.queue.remove(1).unseenBytes == 2)
    }

    @Test func `C5 a key evicted again is remembered as long as any other`() {
        var ghosts = GhostList(costLimit: 100, countLimit: 3)
        ghosts.add(1, cost: 1)
        let wasTaken = ghosts.take(1)
        #expect(wasTaken)
        for hash in [2, 1, 3] { ghosts.add(hash, cost: 1) }
        let isThere = ghosts.take(1)
        #expect(isThere)
        for hash in 4..<7 { ghosts.add(hash, cost: 1) }
        let left = (2..<7).filter { ghosts.take($0) }
        #expect(left == [4, 5, 6])
    }

    @Test func `a value over the total cost is not kept, nor is the value it would replace`() {
        var books = Books(MemoryLimits(costBytes: 10, count: 10))
        _ = books.store(1, cost: 5)
        #expect(books.store(1, cost: 11).places == [1])
        #expect(books.queue.count == 0)
    }

    @Test func `a pin of a removed value does not hold its successor`() throws {
        var books = Books(MemoryLimits(costBytes: 4, count: 10))
        _ = books.store(1, cost: 1)
        let first = books.queue.pin(1)
        let former = try #require(first)
        _ = books.queue.remove(1)
        _ = books.store(1, cost: 1)
        let second = books.queue.pin(1)
        let present = try #require(second)
        books.queue.unpin(former)
        for place in 2..<50 { _ = books.store(place, cost: 1) }
        #expect(books.queue.has(1, at: .zero))
        books.queue.unpin(present)
        for place in 50..<100 { _ = books.store(place, cost: 1) }
        #expect(!books.queue.has(1, at: .zero))
    }
}
