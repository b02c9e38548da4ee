// This source file is part of the Optimist open source project, under the MIT licence.

/// The operations of a push, grouped into units that are applied completely or not at all.
struct Units {
    struct Unit {
        var operations: [Int]
        var hasFailed = false
    }

    private(set) var all: [Unit] = []
    /// The rows that could not be read. The key is the unit whose groups name the rows.
    private(set) var unread: [Int: [RowKey]] = [:]
    private var numbers: [RowKey: Int] = [:]

    /// Makes one unit of the operations on the same row and on rows of the same group. Groups that share a row count as
    /// one group. Ids are unique over all accounts, so a key means the same row in each of them.
    init(_ operations: [RowOperation], _ groups: [[RowKey]], unreadTypes: Set<String>) {
        var leaders = Leaders()
        for group in groups {
            for key in group.dropFirst() { leaders.join(key, group[0]) }
        }
        all.reserveCapacity(operations.count)
        var positions: [RowKey: Int] = [:]
        for (index, operation) in operations.enumerated() {
            let leader = leaders.leader(of: operation.key)
            let position = positions[leader] ?? all.count
            if position == all.count { all.append(Unit(operations: [])) }
            all[position].operations.append(index)
            (positions[leader], numbers[operation.key]) = (position, position)
        }
        if unreadTypes.isEmpty { return }
        for key in groups.joined() where numbers[key] == nil && unreadTypes.contains(key.type) {
            if let position = positions[leaders.leader(of: key)] { unread[position, default: []].append(key) }
        }
    }

    func number(of key: RowKey) -> Int? { numbers[key] }
    func hasFailed(_ unit: Int) -> Bool { all[unit].hasFailed }

    mutating func fail(_ unit: Int) -> Bool {
        defer { all[unit].hasFailed = true }
        return !all[unit].hasFailed
    }
}

/// Disjoint sets of keys (union–find). Each set has one leader.
private struct Leaders {
    private var next: [RowKey: RowKey] = [:]

    mutating func leader(of key: RowKey) -> RowKey {
        var root = key
        while let further = next[root], further != root { root = further }
        var key = key
        while let further = next[key], further != root {
            next[key] = root
            key = further
        }
        return root
    }

    mutating func join(_ a: RowKey, _ b: RowKey) {
        let (one, other) = (leader(of: a), leader(of: b))
        if one != other { next[one] = other }
    }
}
