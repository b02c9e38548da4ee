// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Settles collisions: two living rows with the same unique values. The first row in commit order wins (M6).
extension Consequences {
    private struct Collision {
        var loser: RowKey
        var winner: RowKey
        var index: UniqueIndex
        var entry: IndexEntry
        var isOverStored: Bool
    }

    /// Finds the rows that collide, and merges them if the index says so. Returns true if rows were merged: everything
    /// must then be checked again.
    ///
    /// - Parameter isPushed: Whether an operation gave the row this entry. False: the server gave the row this entry.
    mutating func settleCollisions(_ isPushed: (RowKey, IndexEntry) -> Bool) throws -> Bool {
        let collisions = try collisions()
        try findReferences(to: collisions)
        var hasMerged = false
        for collision in collisions where try stands(collision) {
            guard let cause = rows.rows[collision.loser]?.cause else { continue }
            // If the server itself changed the reference, no device requested the change, so there is no row to refuse.
            if collision.index.onCollision == .mergeInto || !isPushed(collision.loser, collision.entry) {
                try merge(collision.loser, into: collision.winner, cause)
                hasMerged = true
            }
        }
        if hasMerged { return true }
        // After a newcomer is refused, rows that collide with it are evaluated again without the newcomer.
        let lost = collisions.filter(\.isOverStored)
        for collision in lost.isEmpty ? collisions : lost { refuse(collision) }
        return false
    }

    /// Finds all rows that refer to rows about to be merged, in one query per column.
    private func findReferences(to collisions: [Collision]) throws {
        let losers = collisions.filter { $0.index.onCollision == .mergeInto }.map(\.loser)
        for (type, column, definition) in rows.references(to: Set(losers.map(\.type))) {
            let named = Set(losers.filter { $0.type == definition.target }.map(\.indexKey))
            _ = try rows.holders(type, column, Array(named))
        }
    }

    private func stands(_ collision: Collision) throws -> Bool {
        try [collision.loser, collision.winner].allSatisfy { key in
            try rows.row(key).flatMap { $0.isAlive ? collision.index.key(of: $0) : nil } == collision.entry.key
        }
    }

    private mutating func refuse(_ collision: Collision) {
        guard let cause = rows.rows[collision.loser]?.cause else { return }
        let columns = collision.index.columns.joined(separator: ", ")
        blame(
            cause,
            SetError(
                "uniqueViolation", "Another row has the same \(columns).", properties: collision.index.columns,
                winner: collision.winner.id))
    }

    private func collisions() throws -> [Collision] {
        var collisions: [Collision] = []
        for (name, type) in rows.schema.types.sorted(by: { $0.key < $1.key }) {
            for index in type.uniqueIndexes {
                let newcomers = try newcomers(name, index)
                // Decide each value's winner once, however many rows have the value.
                let holders = try rows.holders(name, index.name, Array(Set(newcomers.map(\.entryKey))))
                let winners = try holders.compactMapValues { $0.count > 1 ? try winner(among: $0, index) : nil }
                for (key, entryKey) in newcomers {
                    guard let winner = winners[entryKey], winner.key != key else { continue }
                    collisions.append(
                        Collision(
                            loser: key, winner: winner.key, index: index,
                            entry: IndexEntry(index: index.name, key: entryKey), isOverStored: winner.isStored))
                }
            }
        }
        return collisions
    }

    private func newcomers(_ name: String, _ index: UniqueIndex) throws -> [(key: RowKey, entryKey: IndexKey)] {
        try rows.order.compactMap { key in
            guard key.type == name else { return nil }
            try rows.step()
            guard let row = rows.rows[key]?.row, row.isAlive, let entryKey = index.key(of: row),
                try !hasKept(key, index)
            else { return nil }
            return (key, entryKey)
        }
    }

    private func hasKept(_ key: RowKey, _ index: UniqueIndex) throws -> Bool {
        guard let stored = try rows.stored(key)?.row, stored.isAlive else { return false }
        return index.key(of: stored) == (try rows.row(key).flatMap { index.key(of: $0) })
    }

    /// The row that had the values before this push, or else the first row of the push with the values.
    private func winner(among holders: [RowKey], _ index: UniqueIndex) throws -> (key: RowKey, isStored: Bool)? {
        try rows.load(holders)
        let kept = try holders.filter { key in
            try rows.step()
            return try hasKept(key, index)
        }
        if let first = try kept.min(by: { try bornSeq($0) < bornSeq($1) }) { return (first, true) }
        return rows.first(of: holders).map { ($0, false) }
    }

    private func bornSeq(_ key: RowKey) throws -> Int64 { try rows.stored(key)?.bornSeq ?? .max }
}
