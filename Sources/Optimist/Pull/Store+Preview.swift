// This source file is part of the Optimist open source project, under the MIT licence.

package import GRDB
import OptimistWire

extension Store {
    /// Fills a new store for a preview, and rejects the first row if `refusesFirst`.
    ///
    /// - Throws: Errors of the closure; `DatabaseError`.
    package func fillPreview(refusesFirst: Bool, _ seed: (Database) throws -> Void) throws {
        try transact(as: .user, seed)
        guard refusesFirst else { return }
        try transact(as: .server) { db in
            let first = try Row.fetchOne(db, sql: "SELECT tbl, id FROM optimist_edit ORDER BY tbl, place LIMIT 1")
            guard let first, let layout = layouts.first(where: { $0.number == first[0] }) else { return }
            let ref = RowRef(table: layout.number, id: first[1])
            let refusal = RemotePush.Refusal(code: "forbidden", message: "You may not add anything to this list.")
            try RejectionTable(db).insert(
                ref, .create, refusal, mine: try AppTable(layout: layout, db: db).values(ref.id) ?? [:], server: nil,
                at: milliseconds)
        }
    }
}
