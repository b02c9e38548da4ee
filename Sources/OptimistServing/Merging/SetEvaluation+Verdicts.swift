// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The answers to the operations, made when the final state of all rows is known.
extension SetEvaluation {
    func verdict(of index: Int, _ accounts: [WorkingRows]) throws -> RowVerdict {
        let (operation, key) = (operations[index], operations[index].key)
        let rows = accounts[operation.book]
        switch steps[index] {
        case .refused(var error):
            if error.current == nil, isNeededToUndo(index, error) {
                error.current = try current(sourceRow(of: index) ?? row(of: index))
            }
            return .refused(error)
        case .destroyed: return .accepted(won: nil)
        case .gone: return .gone(try tombstone(of: key, accounts[operation.source ?? operation.book]))
        case .follow: return try successor(of: key, rows)
        case .merged(let life, let lost):
            guard let working = rows.rows[key], working.row.isAlive else { return try successor(of: key, rows) }
            if working.row.generation != life {
                var whole = working.row.patch(for: context.origins)
                (whole.unread, whole.firstLife) = (working.memory.unread, working.memory.toldFirstLife)
                return .accepted(won: whole)
            }
            let columns = lost.union(working.altered)
            // The answer to a move always has the row's life.
            if columns.isEmpty, operation.source == nil { return .accepted(won: nil) }
            var won = working.row.patch(of: columns, for: context.origins)
            won.firstLife = working.memory.toldFirstLife
            return .accepted(won: won)
        }
    }

    /// Whether the device needs the server's row to undo its change, because it has deleted its copy or replaced it
    /// with a later life.
    private func isNeededToUndo(_ index: Int, _ error: SetError) -> Bool {
        switch error.type {
        case "blocked", "behind": false
        case "groupFailed":
            switch operations[index].action {
            case .destroy: true
            case .create(let patch): patch.generation ?? 1 > 1
            case .update: false
            }
        default: true
        }
    }

    private func successor(of key: RowKey, _ rows: WorkingRows) throws -> RowVerdict {
        guard let successor = try rows.successor(of: key), try rows.row(successor)?.isAlive == true else {
            return .gone(try tombstone(of: key, rows))
        }
        return .mergedInto(successor.id)
    }

    /// How and when the row was deleted. If the server loses the deletion, the device sends it again (L3). If the row
    /// moved away, the tombstone has its destination.
    func tombstone(of key: RowKey, _ rows: WorkingRows) throws -> Tombstone? {
        guard let row = try rows.row(key), !row.isAlive else { return nil }
        let memory = try rows.memory(key)
        var tombstone = Tombstone(generation: row.generation, clock: row.deletion)
        guard memory.movedTo != nil else { return tombstone }
        (tombstone.movedTo, tombstone.firstLife) = (memory.movedTo, memory.firstLife)
        // The transaction of this push does not have a number yet.
        let stored = try rows.stored(key)
        if stored?.memory.movedTo == memory.movedTo { tombstone.seq = stored?.seq }
        return tombstone
    }

    /// The server's row, for a device that has to restore it. Nil if the row is not alive.
    private func current(_ row: Row) throws -> RowPatch? {
        guard context.schema.types[row.key.type] != nil, books[row.book].access.mayRead,
            let stored = try books[row.book].reader.row(row.key), stored.row.isAlive
        else { return nil }
        return stored.patch(for: context.origins)
    }
}
