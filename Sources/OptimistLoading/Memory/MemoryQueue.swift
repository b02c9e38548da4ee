// This source file is part of the Optimist open source project, under the MIT licence.

/// Which values are in memory, within a cost, a count and an age (C5). It knows them by their places only.
///
/// A new value waits in a small queue, so that values without a second request soon make room. A value that was asked
/// for meanwhile, or that comes back soon after it was let go, moves on to the main queue, where each use earns another
/// round. The queue whose values come back too late grows at the other's expense. Held values are passed over, up to
/// half of the limits. A seed stays until it is replaced or removed, beside all limits; if there are more seeds than
/// the count, the oldest becomes a value like others.
///
/// > Source: Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache eviction, SOSP 2023 (S3-FIFO); the
/// > sizes of the queues as in Megiddo, Modha: ARC, a self-tuning, low overhead replacement cache, FAST 2003.
struct MemoryQueue {
    private struct Node {
        /// The key's.
        let hash: Int
        var cost: Int
        var storedAt = Duration.zero
        /// Distinguishes the values that follow each other in a place.
        let serial: Int
        var uses: UInt8 = 0
        /// How many hold on to it.
        var pins = 0
        /// Whether no caller has asked for it since it was prefetched.
        var isUnseen = false
        /// It is in the queue of seeds only, and is not in the books.
        var isSeed: Bool
    }

    /// A value that a holder holds on to.
    struct Pin {
        fileprivate let place: Int
        fileprivate let serial: Int
    }

    /// The values that were let go.
    struct Released {
        var places: [Int] = []
        /// What of it was prefetched and never seen.
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
    /// All that can become too old, as they were stored. Empty if nothing can.
    private var ages = Lists(1)
    private var ghosts: [GhostList]
    /// How much the small queue may cost before the main one has to make room.
    private var smallShare: Int
    private var lastSerial = 0
    /// Without seeds, and how many of those there are.
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

    /// The cost of all values, added up again.
    var addedCost: Int { nodes.lazy.compactMap(\.self).filter { !$0.isSeed }.reduce(0) { $0 + $1.cost } }

    // MARK: - Asking

    /// Whether a value is here.
    func has(_ place: Int, at now: Duration) -> Bool {
        guard place < nodes.count, let node = nodes[place] else { return false }
        return node.isSeed || limits.age.map { now - node.storedAt <= $0 } ?? true
    }

    func isSeed(_ place: Int) -> Bool { place < nodes.count && nodes[place]?.isSeed == true }

    /// Whether values are let go when they are too old.
    var hasAge: Bool { limits.age != nil }

    /// Notes that a caller shows a value.
    mutating func use(_ place: Int) {
        nodes[place]?.isUnseen = false
        guard let node = nodes[place], node.uses < 3, lastSerial - node.serial >= occasion else { return }
        nodes[place]?.uses = node.uses + 1
    }

    /// Uses before so many others were stored belong to the one for which the value was fetched: it was prefetched,
    /// say, and then came onto the screen. They do not tell that it will be asked for again.
    ///
    /// > Source: O'Neil, O'Neil, Weikum: The LRU-K page replacement algorithm, SIGMOD 1993, on correlated references.
    private var occasion: Int { min(16, count / 4) }

    // MARK: - Storing

    /// Keeps a value, unless it costs more than all values may. One that it replaces was in the same place.
    mutating func store(
        _ place: Int, hash: Int, cost: Int, at now: Duration, isUnseen: Bool, isSeed: Bool = false
    ) -> Released {
        precondition(cost >= 0, "a cost is not negative")
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

    /// There are too many seeds: the oldest is a value like others from now on.
    private mutating func endOldestSeed(at now: Duration, _ released: inout Released) {
        guard let place = queues.first(of: Queue.seeds), var seed = nodes[place] else { return }
        guard seed.cost <= limits.costBytes, limits.count > 0 else { return remove(place, into: &released) }
        _ = leave(place)
        seed.isSeed = false
        nodes[place] = seed
        enter(place)
        date(place, now)
    }

    /// Returns whether a value comes back that was let go a short while ago: the queue that did so should have been
    /// larger.
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

    /// Enters a node into the books, all but what could be too old.
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

    /// Takes a node out of the books, if there is one.
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

    // MARK: - Letting go

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

    /// Lets go of what costs more than a share of the limits, least likely to be asked for first.
    mutating func trim(to share: Double) -> Released {
        var released = Released()
        if share >= 1 { return released }
        let share = share > 0 ? share : 0
        makeRoom(
            Int(Double(limits.costBytes) * share), Int(Double(limits.count) * share), sparing: nil, &released)
        return released
    }

    /// Lets go of values older than the limit.
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

    // MARK: - Holding on

    /// Holds on to a value for a holder, so that others make room first. Nil: it is not here, or too much is held
    /// already.
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

    /// Whether a pinned value is still here.
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
            // All of it is held on to, or new: half of the limits at most, unless they have become smaller.
            guard let last = queues.first(of: Queue.small) ?? queues.first(of: Queue.main) else { return }
            remove(last, into: &released)
        }
    }

    /// Whether the small queue has its share of what there is too much of.
    private func isSmallFull(_ costLimit: Int, _ countLimit: Int) -> Bool {
        if cost > costLimit { return smallCost >= min(smallShare, costLimit / 10 * 9) }
        let share = Double(smallShare) / Double(max(limits.costBytes, 1))
        return Double(smallCount) >= min(max(share, 0.1), 0.9) * Double(countLimit)
    }

    /// Lets the first of the small queue go that was not asked for, and moves on those before it that were. Returns
    /// false if there is none.
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

    /// Lets the first of the main queue go that has no round left. Returns false if there is none.
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
