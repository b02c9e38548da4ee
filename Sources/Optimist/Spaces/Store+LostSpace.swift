// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension Store {
    /// Begins again with a space that a restored remote does not know (L3, P12). Does nothing if the device does not
    /// count on anything that the remote had of the space.
    ///
    /// The person's member row and the rows that the person may write are sent again. The founder's member row founds
    /// the space, and the row of a person who joined has the ticket of that time. Other persons come back by
    /// themselves, so their member rows are removed.
    ///
    /// - Returns: Whether there was anything to begin again.
    func beginAgain(with number: Int64) async throws -> Bool {
        let (now, shared) = (milliseconds, sharedTables)
        guard try await read({ try Scope.fetch(number, in: $0).isLost(with: shared, $0) }) else { return false }
        try await apply { db in
            let scope = try Scope.fetch(number, in: db)
            let stored = try ProgressTable(db, of: number)
            let tables = try stored.fetchAll(shared)
            try scope.forgetOtherMembers(in: db)
            var restoration = try Restoration(self.layouts, scope, db, at: now)
            for layout in self.layouts where layout.isKept(in: number) {
                if layout.name == MemberRow.databaseTableName, try !scope.mayEnter(db) { continue }
                _ = try restoration.restore(layout, after: 0, before: .max)
            }
            for var progress in tables where progress.latest != nil {
                progress.startOver(mayBeForgotten: true, hasParked: false)
                try stored.save(progress)
            }
            try Scope.update(number, in: db) { scope in
                scope.epochs = []
                scope.rememberDeletedRows(after: 0)
            }
            try WaitTable(db).release(.restarted)
            self.capture.begin(as: .user, milliseconds: self.correctedMilliseconds)
            try scope.showTicket(in: db)
        }
        writes.send()
        return true
    }
}

extension Scope {
    private var memberID: DatabaseValue? { member.flatMap(UUIDForm.bytes.stored) }

    /// The person's role in the space, as far as the device knows. Nil in the personal account.
    func role(in db: Database) throws -> SpaceRole? {
        guard let memberID else { return nil }
        return try SpaceRole.fetchOne(
            db.cachedStatement(sql: "SELECT role FROM optimist_member WHERE id = ?"), arguments: [memberID])
    }

    /// Whether the person may write rows there. A role that the device does not know forbids nothing.
    func mayWrite(as role: SpaceRole?) -> Bool {
        number == Scope.personal || role?.mayWrite ?? (member != nil)
    }

    /// Whether the device still counts on something that the remote had of the space.
    fileprivate func isLost(with tables: [String], _ db: Database) throws -> Bool {
        if try ProgressTable(db, of: number).fetchAll(tables).contains(where: { $0.latest != nil }) { return true }
        guard try mayEnter(db), let memberID else { return false }
        let sql = """
            SELECT EXISTS (SELECT 1 FROM optimist_remote WHERE tbl = \(SpaceTables.members) AND id = ? AND generation > 0)
            """
        return try Bool.fetchOne(db, sql: sql, arguments: [memberID]) ?? false
    }

    /// An owner without a ticket is the founder. Others need the ticket, so a device that did not open the link waits for
    /// the one that did.
    fileprivate func mayEnter(_ db: Database) throws -> Bool { try ticket != nil || role(in: db) == .owner }

    /// Makes the member row send the ticket with it.
    fileprivate func showTicket(in db: Database) throws {
        guard let ticket else { return }
        try db.execute(sql: "UPDATE optimist_member SET ticket = ? WHERE id = ?", arguments: [ticket, memberID])
    }

    /// Removes the other members as if the server had told it. Unsent removals of members stay.
    fileprivate func forgetOtherMembers(in db: Database) throws {
        let others = try DatabaseValue.fetchAll(
            db,
            sql: """
                SELECT r.id FROM optimist_remote r LEFT JOIN optimist_edit e ON e.tbl = r.tbl AND e.id = r.id
                WHERE r.tbl = \(SpaceTables.members) AND r.scope = ? AND r.id IS NOT ?
                AND (e.generation IS NULL OR e.generation & 1)
                """, arguments: [number, memberID])
        for id in others {
            try db.execute(sql: "DELETE FROM optimist_member WHERE id = ?", arguments: [id])
            for table in ["optimist_edit", "optimist_remote"] {
                try db.execute(
                    sql: "DELETE FROM \(table) WHERE tbl = \(SpaceTables.members) AND id = ?", arguments: [id])
            }
        }
    }
}
