// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// The rows of a write, for a call that waits for the server's answer. An encoded receipt also works in a later launch
/// of the app.
public struct Receipt: Codable, Hashable, Sendable {
    struct Row: Codable, Hashable, Sendable {
        let table: String
        let id: String
    }

    let rows: [Row]
    /// The last push that was assembled before the write.
    let push: Int64
    /// The last rejection that existed before the write.
    let rejection: Int64

    init(rows refs: [RowRef], layouts: [TableLayout], in db: Database) throws {
        rows = refs.compactMap { ref in
            guard let layout = layouts.first(where: { $0.number == ref.table }), let id = layout.idForm.wire(ref.id)
            else {
                return nil
            }
            return Row(table: layout.name, id: id)
        }
        push = try Meta.int(.push, in: db) ?? 0
        rejection = try Int64.fetchOne(db, sql: "SELECT max(number) FROM optimist_rejection") ?? 0
    }
}

extension Store {
    /// Returns a receipt for all rows that are pending now. It does not cover later writes.
    ///
    /// - Throws: `DatabaseError`.
    public func pendingReceipt() async throws -> Receipt {
        try await read { db in
            try Receipt(rows: RowEntryTable.unsent(db), layouts: self.layouts, in: db)
        }
    }

    /// Waits until the server has accepted or refused every row of a write, in a push assembled after the write.
    ///
    /// The call waits as long as necessary, even offline. If the user edited a row again before the server refused it,
    /// the device sends the newer version instead, and the row is settled when the server has answered the newer
    /// version. Cancelling the task only ends the wait.
    ///
    /// - Returns: The rejections among the write's rows, except those already retried or discarded. If empty, the
    ///   server has applied every row, or a later change on the server won (``Conflict``).
    /// - Throws: `CancellationError`, or `DatabaseError`.
    public func rejections(awaiting receipt: Receipt) async throws -> [Rejection] {
        let changes = changes.stream()
        var waiting = try await unsettled(refs(receipt)[...], since: receipt.push)
        if waiting.isEmpty { return try await rejections(of: receipt) }
        for await _ in changes {
            waiting = try await unsettled(waiting, since: receipt.push)
            if waiting.isEmpty { return try await rejections(of: receipt) }
        }
        throw CancellationError()
    }

    /// Drops leading rows that are settled. They stay settled, so the next check can skip them.
    func unsettled(_ refs: ArraySlice<RowRef>, since push: Int64) async throws -> ArraySlice<RowRef> {
        try await read { db in
            let waits = try db.cachedStatement(
                sql: """
                    SELECT 1 FROM optimist_edit e WHERE tbl = ?1 AND id = ?2 AND NOT EXISTS
                    (SELECT 1 FROM optimist_remote r WHERE r.tbl = ?1 AND r.id = ?2 AND r.settled > ?3)
                    """)
            return try refs.drop { ref in try Int.fetchOne(waits, arguments: [ref.table, ref.id, push]) == nil }
        }
    }

    private func rejections(of receipt: Receipt) async throws -> [Rejection] {
        let rows = Set(receipt.rows)
        return try await rejections().filter { rejection in
            let bundle =
                [(rejection.table, rejection.rowID, rejection.id)]
                + rejection.dependents.map { ($0.table, $0.rowID, $0.number) }
            return bundle.contains { table, id, number in
                number > receipt.rejection && rows.contains(Receipt.Row(table: table, id: id))
            }
        }
    }

    func refs(_ receipt: Receipt) -> [RowRef] {
        receipt.rows.compactMap { row in
            layout(named: row.table).flatMap { layout in
                layout.idForm.stored(row.id).map { RowRef(table: layout.number, id: $0) }
            }
        }
    }

    func layout(named name: String) -> TableLayout? { layouts.first { $0.name == name } }
}
