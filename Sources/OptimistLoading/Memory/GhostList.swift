// This source file is part of the Optimist open source project, under the MIT licence.

/// Which keys were let go a short while ago, without their values: one that is asked for again so soon was let go too early.
///
/// Keys are remembered by their hashes. Two that share one are mistaken for each other, which costs a better place in the
/// cache and nothing else.
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
    /// How often each is in the list.
    private var counts: [Int: Int] = [:]
    private var cost = 0

    init(costLimit: Int, countLimit: Int) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    mutating func add(_ hash: Int, cost ghostCost: Int) {
        ghosts.append(Ghost(hash: hash, cost: ghostCost))
        counts[hash, default: 0] += 1
        cost += ghostCost
        while start < ghosts.count, cost > costLimit || ghosts.count - start > countLimit { forgetOldest() }
        if start > 64, start * 2 > ghosts.count {
            ghosts.removeFirst(start)
            start = 0
        }
    }

    /// Whether a key was let go lately. It is asked for now, so it is so no more.
    mutating func take(_ hash: Int) -> Bool { counts.removeValue(forKey: hash) != nil }

    private mutating func forgetOldest() {
        let ghost = ghosts[start]
        start += 1
        cost -= ghost.cost
        guard let count = counts[ghost.hash] else { return }
        counts[ghost.hash] = count > 1 ? count - 1 : nil
    }
}
