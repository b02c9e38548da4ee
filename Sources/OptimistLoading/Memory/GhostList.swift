// This source file is part of the Optimist open source project, under the MIT licence.

/// Which keys were let go a short while ago, without their values: one that is asked for again so soon was let go too
/// early.
///
/// Keys are remembered by their hashes. Two that share one are mistaken for each other, which costs a better place in
/// the cache and nothing else.
struct GhostList {
    private struct Ghost {
        let hash: Int
        let cost: Int
    }

    private let costLimit: Int
    private let countLimit: Int
    /// The oldest first, from `start` on.
    private var ghosts: [Ghost] = []
    private var start = 0
    /// How many have been forgotten by now: the number of the one at `start`.
    private var forgotten = 0
    /// The number of the latest ghost of each, unless it was taken.
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

    /// Whether a key was let go lately. It is asked for now, so it is so no more.
    mutating func take(_ hash: Int) -> Bool { latest.removeValue(forKey: hash) != nil }

    private mutating func forgetOldest() {
        let ghost = ghosts[start]
        cost -= ghost.cost
        if latest[ghost.hash] == forgotten { latest[ghost.hash] = nil }
        start += 1
        forgotten += 1
    }
}
