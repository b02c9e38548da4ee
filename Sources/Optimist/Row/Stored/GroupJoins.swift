// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Two groups that became one, because a transaction touched rows of both or because they waited for each other (S2).
struct GroupJoin: Hashable, Sendable {
    let a: Int64
    let b: Int64

    init(_ one: Int64, _ other: Int64) {
        a = min(one, other)
        b = max(one, other)
    }
}

/// A group's number is the raw value of its first stamp.
struct UnitedGroups: Equatable, Sendable {
    private var leaders: [Int64: Int64] = [:]
    private var members: [Int64: [Int64]] = [:]

    init(_ joins: some Sequence<GroupJoin>) {
        for join in joins {
            let (one, other) = (leader(of: join.a), leader(of: join.b))
            if one == other { continue }
            // Joining the smaller set to the larger changes each group's leader O(log n) times.
            let isLarger = members[one]?.count ?? 1 >= members[other]?.count ?? 1
            let (larger, smaller) = isLarger ? (one, other) : (other, one)
            let joining = members.removeValue(forKey: smaller) ?? [smaller]
            for group in joining { leaders[group] = larger }
            members[larger, default: [larger]] += joining
        }
    }

    func leader(of group: Int64) -> Int64 { leaders[group] ?? group }

    /// The groups joined with this one, including itself, oldest first. Nil if the group is alone.
    func united(with group: Int64) -> [Int64]? { members[leader(of: group)]?.sorted() }
}

/// Reads and writes `optimist_join` and `optimist_whole` within one transaction.
struct GroupJoins {
    let db: Database

    init(_ db: Database) { self.db = db }

    func insert(_ joins: Set<GroupJoin>) throws {
        for join in joins {
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO optimist_join VALUES (?, ?)")
                .execute(arguments: [join.a, join.b])
        }
    }

    func united() throws -> UnitedGroups {
        let rows = try Row.fetchAll(db.cachedStatement(sql: "SELECT a, b FROM optimist_join"))
        return UnitedGroups(rows.map { GroupJoin($0[0], $0[1]) })
    }

    /// Makes the server apply or refuse the group as a unit (V5).
    func keepWhole(_ group: Int64) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO optimist_whole VALUES (?)", arguments: [group])
    }

    func isWhole(_ groups: some Sequence<Int64>) throws -> Bool {
        let wholes = try Int64.fetchSet(db.cachedStatement(sql: "SELECT grp FROM optimist_whole"))
        return groups.contains { wholes.contains($0) }
    }

    func forgetSettled() throws {
        func isGone(_ group: String) -> String { "\(group) NOT IN (SELECT grp FROM optimist_edit)" }
        try db.cachedStatement(sql: "DELETE FROM optimist_join WHERE \(isGone("a")) AND \(isGone("b"))").execute()
        try db.cachedStatement(sql: "DELETE FROM optimist_whole WHERE \(isGone("grp"))").execute()
    }
}
