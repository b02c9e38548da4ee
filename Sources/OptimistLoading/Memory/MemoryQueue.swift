// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which values stay in memory, within a cost, a count and an age. It knows values by their places.
///
/// A new value enters a small queue, so that a value without a second request is evicted soon. A value that is
/// requested again, or returns soon after its eviction, moves to the main queue, where each use earns another round. If
/// values return soon after their eviction from one queue, that queue grows at the other's expense. Pinned values are
/// skipped, up to half of the limits. A seed stays until it is replaced or removed, and does not count against the
/// limits. Beyond the count limit, the oldest seed becomes an ordinary value.
///
/// > Source: Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache eviction, SOSP 2023 (S3-FIFO); queue
/// > sizes as in Megiddo, Modha: ARC, a self-tuning, low overhead replacement cache, FAST 2003.
struct MemoryQueue {
    private struct Node {
        let hash: Int
        var cost: Int
        var storedAt = Duration.zero
        /// Distinguishes successive values at one place.
        let serial: Int
        var uses: UInt8 = 0
        var pins = 0
        /// Whether it was prefetched and has not been requested yet.
        var isUnseen = false
        /// A seed is only in the seeds' queue, and does not count in the totals.
        var isSeed: Bool
    }

    struct Pin {
        fileprivate let place: Int
        fileprivate let serial: Int
    }

    struct Released {
        var places: [Int] = []
        /// The cost of released values that were prefetched but never used.
        var unseenBytes = 0
    }

    private enum Queue {
        static let small = 0
        static let main = 1
        static let seeds = 2
    }

    private let limits: MemoryLimits
    private var nodes: [Node?] = []
    private var queues = Lists(3)
    /// Values that can expire, oldest first. Empty without an age limit.
    private var ages = Lists(1)
    private var ghosts: [GhostList]
    /// If the small queue costs at least this much, it is evicted first.
    private var smallShare: Int
    private var lastSerial = 0
    /// The number of values, without seeds.
    private(set) var count = 0
    private(set) var seedCount = 0
    private(set) var cost = 0
    private var smallCost = 0
    private var smallCount = 0
    private var pinnedCost = 0
    private var pinnedCount = 0

    init(_ limits: MemoryLimits) {
        self.limits = limits
        ghosts = [
            GhostList(costLimit: limits.costBytes / 10 * 9, countLimit: limits.count),
            GhostList(costLimit: limits.costBytes / 2, countLimit: limits.count),
        ]
        smallShare = limits.costBytes / 10
    }

    var addedCost: Int { nodes.lazy.compactMap(\.self).filter { !$0.isSeed }.reduce(0) { $0 + $1.cost } }

    // MARK: - Queries

    func has(_ place: Int, at now: Duration) -> Bool {
        guard place < nodes.count, let node = nodes[place] else { return false }
        return node.isSeed || limits.age.map { now - node.storedAt <= $0 } ?? true
    }

    func isSeed(_ place: Int) -> Bool { place < nodes.count && nodes[place]?.isSeed == true }

    var hasAge: Bool { limits.age != nil }

    mutating func use(_ place: Int) {
        nodes[place]?.isUnseen = false
        guard let node = nodes[place], node.uses < 3, lastSerial - node.serial >= occasion else { return }
        nodes[place]?.uses = node.uses + 1
    }

    /// How many values must be stored before another use counts. Earlier uses belong to the request that loaded the
    /// value, for example when a prefetched value appears on screen. They do not predict another request.
    ///
    /// > Source: O'Neil, O'Neil, Weikum: The LRU-K page replacement algorithm, SIGMOD 1993, on correlated references.
    private var occasion: Int { min(16, count / 4) }

    // MARK: - Storing

    /// Stores a value, replacing a former one at the same place. A value that exceeds the cost limit by itself is not
    /// stored.
    mutating func store(
        _ place: Int, hash: Int, cost: Int, at now: Duration, isUnseen: Bool, isSeed: Bool = false
    ) -> Released {
        precondition(cost >= 0, "A cost must not be negative.")
        while nodes.count <= place { nodes.append(nil) }
        var released = Released()
        guard isSeed || cost <= limits.costBytes && limits.count > 0 else {
            remove(place, into: &released)
            return released
        }
        if let node = nodes[place], node.isUnseen { released.unseenBytes += node.cost }
        if !isSeed, nodes[place]?.isSeed == false {
            change(place, to: cost)
        } else {
            let former = leave(place)
            if former == nil { lastSerial += 1 }
            nodes[place] = Node(
                hash: hash, cost: cost, serial: former?.serial ?? lastSerial, pins: former?.pins ?? 0,
                isSeed: isSeed)
            enter(place)
        }
        nodes[place]?.isUnseen = isUnseen
        date(place, now)
        while seedCount > limits.count { endOldestSeed(at: now, &released) }
        makeRoom(limits.costBytes, limits.count, sparing: place, &released)
        return released
    }

    private mutating func date(_ place: Int, _ now: Duration) {
        nodes[place]?.storedAt = now
        guard hasAge else { return }
        ages.remove(place)
        if nodes[place]?.isSeed == false { ages.append(place, to: 0) }
    }

    private mutating func endOldestSeed(at now: Duration, _ released: inout Released) {
        guard let place = queues.first(of: Queue.seeds), var seed = nodes[place] else { return }
        guard seed.cost <= limits.costBytes, limits.count > 0 else { return remove(place, into: &released) }
        _ = leave(place)
        seed.isSeed = false
        nodes[place] = seed
        enter(place)
        date(place, now)
    }

    /// Returns whether a value returns soon after its eviction. If so, enlarges the queue that evicted it.
    private mutating func learn(from hash: Int, _ cost: Int) -> Bool {
        let wasSmall = ghosts[Queue.small].take(hash)
        let wasMain = ghosts[Queue.main].take(hash)
        if wasSmall { smallShare = min(smallShare + cost, limits.costBytes / 10 * 9) }
        if wasMain { smallShare = max(smallShare - cost, limits.costBytes / 10) }
        return wasSmall || wasMain
    }

    private mutating func change(_ place: Int, to newCost: Int) {
        guard let node = nodes[place] else { return }
        nodes[place]?.cost = newCost
        cost += newCost - node.cost
        if queues.list(of: place) == Queue.small { smallCost += newCost - node.cost }
        if node.pins > 0 { pinnedCost += newCost - node.cost }
    }

    /// Adds a node to its queue and to the totals, but not to `ages`.
    private mutating func enter(_ place: Int) {
        guard let node = nodes[place] else { return }
        if node.isSeed {
            seedCount += 1
            return queues.append(place, to: Queue.seeds)
        }
        (count, cost) = (count + 1, cost + node.cost)
        let isBack = learn(from: node.hash, node.cost)
        queues.append(place, to: isBack ? Queue.main : Queue.small)
        if !isBack { (smallCost, smallCount) = (smallCost + node.cost, smallCount + 1) }
        if node.pins > 0 { (pinnedCost, pinnedCount) = (pinnedCost + node.cost, pinnedCount + 1) }
    }

    private mutating func leave(_ place: Int) -> Node? {
        guard let node = nodes[place] else { return nil }
        nodes[place] = nil
        if node.isSeed {
            seedCount -= 1
            queues.remove(place)
            return node
        }
        (count, cost) = (count - 1, cost - node.cost)
        if queues.list(of: place) == Queue.small { (smallCost, smallCount) = (smallCost - node.cost, smallCount - 1) }
        queues.remove(place)
        if node.pins > 0 { (pinnedCost, pinnedCount) = (pinnedCost - node.cost, pinnedCount - 1) }
        return node
    }

    // MARK: - Removal

    mutating func remove(_ place: Int) -> Released {
        var released = Released()
        remove(place, into: &released)
        return released
    }

    mutating func removeAll() -> Released {
        let released = Released(places: nodes.indices.filter { nodes[$0] != nil })
        let lastSerial = lastSerial
        self = MemoryQueue(limits)
        self.lastSerial = lastSerial
        return released
    }

    /// Evicts values until they use at most a share of the limits. The values least likely to be requested are evicted
    /// first.
    mutating func trim(to share: Double) -> Released {
        var released = Released()
        if share >= 1 { return released }
        let share = share > 0 ? share : 0
        makeRoom(
            Int(Double(limits.costBytes) * share), Int(Double(limits.count) * share), sparing: nil, &released)
        return released
    }

    mutating func expire(at now: Duration) -> Released {
        var released = Released()
        guard let age = limits.age else { return released }
        while let place = ages.first(of: 0), let node = nodes[place], now - node.storedAt > age {
            remove(place, into: &released)
        }
        return released
    }

    private mutating func remove(_ place: Int, into released: inout Released) {
        guard place < nodes.count, let node = leave(place) else { return }
        ages.remove(place)
        released.places.append(place)
        if node.isUnseen { released.unseenBytes += node.cost }
    }

    // MARK: - Pins

    /// Pins a value, so that others are evicted first. Nil if the value is missing, or too much is pinned already.
    mutating func pin(_ place: Int) -> Pin? {
        guard place < nodes.count, let node = nodes[place] else { return nil }
        if node.pins == 0, !node.isSeed {
            guard pinnedCost + node.cost <= limits.costBytes / 2, pinnedCount < max(limits.count / 2, 1) else {
                return nil
            }
            pinnedCost += node.cost
            pinnedCount += 1
        }
        nodes[place]?.pins += 1
        return Pin(place: place, serial: node.serial)
    }

    func has(_ pin: Pin) -> Bool { pin.place < nodes.count && nodes[pin.place]?.serial == pin.serial }

    mutating func unpin(_ pin: Pin) {
        guard pin.place < nodes.count, let node = nodes[pin.place], node.serial == pin.serial, node.pins > 0 else {
            return
        }
        nodes[pin.place]?.pins -= 1
        if node.pins == 1, !node.isSeed {
            pinnedCost -= node.cost
            pinnedCount -= 1
        }
    }

    // MARK: - Eviction

    private mutating func makeRoom(
        _ costLimit: Int, _ countLimit: Int, sparing newest: Int?, _ released: inout Released
    ) {
        while cost > costLimit || count > countLimit {
            let isSmallFirst = isSmallFull(costLimit, countLimit) || queues.first(of: Queue.main) == nil
            if isSmallFirst ? evictSmall(newest, &released) : evictMain(&released) { continue }
            if isSmallFirst ? evictMain(&released) : evictSmall(newest, &released) { continue }
            // All remaining values are pinned or new. This happens only with a lower limit than usual, as in
            // `trim(to:)`.
            guard let last = queues.first(of: Queue.small) ?? queues.first(of: Queue.main) else { return }
            remove(last, into: &released)
        }
    }

    /// Whether the small queue exceeds its share of the limit that was exceeded.
    private func isSmallFull(_ costLimit: Int, _ countLimit: Int) -> Bool {
        if cost > costLimit { return smallCost >= min(smallShare, costLimit / 10 * 9) }
        let share = Double(smallShare) / Double(max(limits.costBytes, 1))
        return Double(smallCount) >= min(max(share, 0.1), 0.9) * Double(countLimit)
    }

    /// Evicts the first unused value of the small queue, and moves the used values before it to the main queue. Returns
    /// false if there is no unused value.
    private mutating func evictSmall(_ newest: Int?, _ released: inout Released) -> Bool {
        var place = queues.first(of: Queue.small)
        while let present = place, let node = nodes[present] {
            place = queues.next(after: present)
            if node.pins > 0 || present == newest { continue }
            if node.uses > 0 {
                queues.remove(present)
                (smallCost, smallCount) = (smallCost - node.cost, smallCount - 1)
                nodes[present]?.uses = 0
                queues.append(present, to: Queue.main)
                continue
            }
            ghosts[Queue.small].add(node.hash, cost: node.cost)
            remove(present, into: &released)
            return true
        }
        return false
    }

    /// Evicts the first value of the main queue that does not have uses left. Returns false if there is none.
    private mutating func evictMain(_ released: inout Released) -> Bool {
        var place = queues.first(of: Queue.main)
        while let present = place, let node = nodes[present] {
            place = queues.next(after: present)
            if node.pins > 0 { continue }
            if node.uses == 0 {
                ghosts[Queue.main].add(node.hash, cost: node.cost)
                remove(present, into: &released)
                return true
            }
            nodes[present]?.uses = node.uses - 1
            queues.remove(present)
            queues.append(present, to: Queue.main)
            place = place ?? present
        }
        return false
    }
}
