// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistCore
import OptimistWire

extension SyncedRecord {
    /// Moves the row, with everything below it, to a space. Call it in `Store.write`, also offline.
    ///
    /// It sets only the column that names the space, in the database. The record keeps its value.
    ///
    /// - Parameters:
    ///   - space: Nil: the person's own account.
    ///   - db: The connection of the write.
    /// - Throws: `OptimistError` with code `invalidTable` if the table's ``SyncRules`` do not name such a column: move
    ///   the row's root instead. GRDB's `RecordError` if the row does not exist. The write throws at its end if the
    ///   person may not write in both places, and then writes nothing.
    public func move(to space: Space.ID?, in db: Database) throws {
        guard case .own(let column)? = Self.syncRules.space else {
            throw OptimistError(
                .invalidTable,
                """
                Rows of "\(Self.databaseTableName)" do not name their space. Move the row above them: those below follow.
                """)
        }
        let stored = try db.columns(in: Self.databaseTableName).first { $0.name == column }
        let value = space.flatMap { id in
            stored.flatMap { UUIDForm(of: $0, in: Self.self).stored(id.uuidString.lowercased()) }
        }
        let row = try databaseDictionary
        let moved = try Self.filter(Column("id") == row["id"]).updateAll(db, Column(column).set(to: value))
        guard moved > 0 else {
            throw RecordError.recordNotFound(databaseTableName: Self.databaseTableName, key: ["id": row["id"] ?? .null])
        }
    }
}
