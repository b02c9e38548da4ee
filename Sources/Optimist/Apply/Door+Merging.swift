// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Merges rows that the server has merged by a unique index (M6). References to the loser become references to the
/// winner.
extension Door {
    /// - Throws: `DatabaseError` of a constraint.
    func repoint(from loser: RowRef, to winner: DatabaseValue) throws {
        guard let table = tables[loser.table] else { return }
        for referrer in references.referrers(to: table.layout.name) {
            guard let children = tables[referrer.layout.number] else { continue }
            let name = "\"\(referrer.column.name)\""
            try DatabaseError.asConstraint {
                try db.cachedStatement(sql: "\(children.updateSQL) \(name) = ? WHERE \(name) = ?")
                    .execute(arguments: [winner, loser.id])
            }
        }
    }

    /// Removes the loser, or makes it stand in for a winner that the device has not received yet.
    ///
    /// - Returns: False if a constraint forbids it, for example because this device has deleted the winner.
    mutating func unite(_ loser: RowRef, with winner: RowRef) throws -> Bool {
        try attempt(deferring: true) { try $0.replace(loser, by: winner) } == nil
    }

    private mutating func replace(_ loser: RowRef, by winner: RowRef) throws {
        guard let table = tables[loser.table] else { return }
        try repoint(from: loser, to: winner.id)
        if try table.contains(winner.id) || entries.entry(winner) != nil { return try table.delete(loser.id) }
        try DatabaseError.asConstraint {
            try db.cachedStatement(sql: "\(table.updateSQL) id = ? WHERE id = ?")
                .execute(arguments: [winner.id, loser.id])
        }
        let scope = try entries.entry(loser)?.remote.scope ?? Scope.personal
        try entries.save(
            RowEntry(ref: winner, generation: 1, remote: RemoteRow(generation: 1, presence: .absent, scope: scope)))
    }
}
