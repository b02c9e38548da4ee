// This source file is part of the Optimist open source project, under the MIT licence.

/// The keys of recently evicted values. If such a key is requested again, its value was evicted too early.
///
/// Keys are stored as hashes. A collision only gives a value a better place in the cache.
struct GhostList {
    private struct Ghost {
        let hash: Int
        let cost: Int
    }

    private let costLimit: Int
    private let countLimit: Int
    private var ghosts: [Ghost] = []
    private var start = 0
    /// How many ghosts have been forgotten. This is also the number of the ghost at `start`.
    private var forgotten = 0
    /// The number of each key's latest ghost, unless it was taken.
    private var latest: [Int: Int] = [:]
    private var cost = 0

    init(costLimit: Int, countLimit: Int) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    mutating func add(_ hash: Int, cost ghostCost: Int) {
        latest[hash] = forgotten + ghosts.count - start
        ghosts.append(Ghost(hash: hash, cost: ghostCost))
        cost += ghostCost
        while start < ghosts.count, cost > costLimit || ghosts.count - start > countLimit { forgetOldest() }
        if start > 64, start * 2 > ghosts.count {
            ghosts.removeFirst(start)
            start = 0
        }
    }

    /// Returns whether a key was evicted recently, and forgets it.
    mutating func take(_ hash: Int) -> Bool { latest.removeValue(forKey: hash) != nil }

    private mutating func forgetOldest() {
        let ghost = ghosts[start]
        cost -= ghost.cost
        if latest[ghost.hash] == forgotten { latest[ghost.hash] = nil }
        start += 1
        forgotten += 1
    }
}
