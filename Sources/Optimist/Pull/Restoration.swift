// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Marks rows as unsent again after the remote lost them, because its database went back (L3).
struct Restoration {
    private var door: Door
    private let device: String
    private let scope: Scope
    private let role: SpaceRole?

    /// - Parameter scope: The scope whose rows the remote lost.
    init(_ layouts: [TableLayout], _ scope: Scope, _ db: Database, at milliseconds: Int64) throws {
        door = try Door(layouts, db, at: milliseconds)
        device = try DeviceIdentity.current(in: db)
        self.scope = scope
        role = try scope.role(in: db)
    }

    /// Marks the rows of a table as unsent if the remote confirmed them after a transaction. They keep their original
    /// groups, as far as the stamps show these. If this device does not have a copy of a life, for example of a parked
    /// row, or if the person may not write the row, another device sends it.
    ///
    /// - Parameter known: The last transaction that the device has seen.
    /// - Returns: Whether the device must receive the table again.
    mutating func restore(_ layout: TableLayout, after common: Int64, before known: Int64) throws -> Bool {
        guard let table = door.tables[layout.number] else { return false }
        let (db, scope) = (door.db, scope.number)
        try db.execute(
            sql: """
                UPDATE optimist_remote SET departure = json_array(?2, NULL) WHERE tbl = ?1
                AND json_extract(departure, '$[0]') = ?2 AND min(json_extract(departure, '$[1]'), ?3) > ?4
                """, arguments: [layout.number, scope, known, common])
        var isLacking = false
        let ids = try DatabaseValue.fetchAll(
            db, sql: "SELECT id FROM optimist_remote WHERE tbl = ? AND scope = ? AND seq > ?",
            arguments: [layout.number, scope, common])
        for id in ids {
            guard var entry = try door.entries.entry(RowRef(table: layout.number, id: id)) else { continue }
            entry.local?.stopWaiting()
            guard mayWrite(entry.ref, layout) else {
                // Any version of the server is right, also an earlier life.
                entry.remote.lose(after: 0)
                try door.entries.save(entry)
                isLacking = true
                continue
            }
            entry.remote.lose(after: common)
            if entry.hasServersLife, entry.isHere(in: layout) {
                try restore(&entry, in: table)
            } else if entry.isRestored || entry.isWhollyUnsent(in: layout) {
                // The row is sent in full anyway.
                entry.remote.lose()
            }
            try door.entries.save(entry)
        }
        try db.execute(
            sql: """
                UPDATE optimist_counter SET seq = ?2 WHERE tbl = ?1 AND seq > ?2 AND ?3 = coalesce(
                (SELECT r.scope FROM optimist_remote r WHERE r.tbl = ?1 AND r.id = optimist_counter.id), 0)
                """, arguments: [layout.number, common, scope])
        // A parked row was never in the table. The device that wrote it sends it again.
        try db.execute(
            sql: "DELETE FROM optimist_parked WHERE tbl = ? AND scope = ? AND seq > ?",
            arguments: [layout.number, scope, common])
        return isLacking || db.changesCount > 0
    }

    /// Whether the server would take the row from this person.
    private func mayWrite(_ ref: RowRef, _ layout: TableLayout) -> Bool {
        if scope.number == Scope.personal { return true }
        return switch layout.name {
        case MemberRow.databaseTableName: scope.isOwnMember(ref, in: layout)
        case InvitationRow.databaseTableName: role == .owner
        default: scope.mayWrite(as: role)
        }
    }

    /// Marks a row as lost by the server. An unsent edit that is earlier than a server value ends, and the journal
    /// keeps it. If the app's table cannot take that value, for example a reference to a missing row, the edit stays
    /// and gets a later stamp.
    private mutating func restore(_ entry: inout RowEntry, in table: AppTable) throws {
        var yielding = entry
        let rendering = yielding.yieldToLater(device: device, in: table.layout)
        yielding.restore(in: table.layout)
        let passage = Passage(before: entry, entry: yielding, rendering: rendering)
        if case .set(let later) = rendering.change, try door.attempt(deferring: true, { try $0.pass(passage) }) != nil {
            for column in table.layout.columns(in: table.layout.mask(of: later)) {
                try door.db.witness(entry.stand(column))
            }
            entry.restore(in: table.layout)
        } else {
            entry = yielding
        }
    }
}

extension RowEntry {
    /// Whether the server had the present life, or the deletion that the row outlives.
    fileprivate var hasServersLife: Bool {
        remote.generation == generation
            || (isAlive && remote.generation == generation + 1 && dirty & TableLayout.lifeMask == 0)
    }

    /// Whether this device and another one both began the life, so that the full row is unsent.
    fileprivate func isWhollyUnsent(in layout: TableLayout) -> Bool {
        remote.generation == generation && dirty & layout.fullMask == layout.fullMask
    }

    fileprivate func isHere(in layout: TableLayout) -> Bool {
        remote.presence != .absent || !isAlive || layout.columns.allSatisfy(\.isCounter)
    }
}
