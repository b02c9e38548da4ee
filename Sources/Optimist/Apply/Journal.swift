// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The user's edits that lost to newer ones or to a deletion (M7). The journal drops the oldest edits first.
struct Journal {
    /// In edits.
    static let capacity = 1_000

    let db: Database

    init(_ db: Database) { self.db = db }

    /// - Parameters:
    ///   - theirs: The values that replaced the user's. Nil if the row was deleted.
    ///   - whole: Every column of a deleted row, so that the app can create it again.
    func record(
        _ ref: RowRef, reason: Conflict.Reason, mine: JSONObject, theirs: JSONObject? = nil, whole: JSONObject? = nil,
        at milliseconds: Int64
    ) throws {
        try db.cachedStatement(
            sql: "INSERT INTO optimist_journal(tbl, id, reason, mine, theirs, whole, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        ).execute(
            arguments: [
                ref.table, ref.id, reason.rawValue, JSON.object(mine).description,
                theirs.map { JSON.object($0).description }, whole.map { JSON.object($0).description }, milliseconds,
            ])
        try db.cachedStatement(sql: "DELETE FROM optimist_journal WHERE number <= ?")
            .execute(arguments: [db.lastInsertedRowID - Int64(Self.capacity)])
    }

    func record(_ loss: Loss, of ref: RowRef, at milliseconds: Int64) throws {
        try record(
            ref, reason: loss.reason, mine: loss.mine, theirs: loss.theirs, whole: loss.whole, at: milliseconds)
    }

    /// The user's values that a row loses when its life ends, or to another device that had not read them.
    struct Loss {
        let reason: Conflict.Reason
        let mine: JSONObject
        /// The replacing values: the next life's, or another device's.
        let theirs: JSONObject?
        /// Nil if the row lives on.
        let whole: JSONObject?

        /// Reads the loss before the row changes. Nil if there is none: values that the row keeps (M5) and values that
        /// no user wrote are not lost.
        init?(_ rendering: Rendering, of entry: RowEntry, in table: AppTable, besides vacancy: Vacancy? = nil) throws {
            guard rendering.lost != 0, let values = try table.values(entry.ref.id) else { return nil }
            let present = vacancy?.filled(values, of: entry.ref.id, in: table) ?? values
            let next: JSONObject? =
                switch rendering.change {
                case .put(let values), .set(let values): values
                case .none, .delete: nil
                }
            let lost = table.layout.columns(in: rendering.lost).filter { column in
                if entry.dirty & column.mask != 0, entry.unsentClock(of: column.name) == .ofMigrations { return false }
                return next.map { $0[column.name] ?? .null != present[column.name] ?? .null } ?? true
            }
            if lost.isEmpty { return nil }
            reason = rendering.endsLife ? .deleted : .overwritten
            mine = entry.kept(JSONObject(lost.map { ($0.name, present[$0.name] ?? .null) }), in: table.layout)
            theirs = next.map { next in JSONObject(lost.map { ($0.name, next[$0.name] ?? .null) }) }
            whole = rendering.endsLife ? present : nil
        }

        /// The loss when a later version replaces a parked row. Nil if that version has the same values (M5).
        init?(_ columns: [String], of parked: RowPatch, by later: RemotePage.Row.Content) {
            let next: JSONObject? = if case .row(let patch) = later { patch.values } else { nil }
            let lost = columns.filter { column in
                guard let mine = parked.values[column] else { return false }
                return next.map { $0[column] != mine } ?? true
            }
            if lost.isEmpty { return nil }
            let livesOn = next != nil && later.version.life == parked.generation ?? 1
            reason = livesOn ? .overwritten : .deleted
            mine = JSONObject(lost.map { ($0, parked.values[$0] ?? .null) })
            theirs = next.map { next in JSONObject(lost.map { ($0, next[$0] ?? .null) }) }
            whole = livesOn ? nil : parked.values
        }
    }
}
