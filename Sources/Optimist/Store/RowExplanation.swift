// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// The state of one row between this device and the server: its unsent edit, the content that waits, and its refusals.
public struct RowExplanation: Hashable, Sendable {
    /// The unsent edit of the row. Nil: the server has accepted everything, or refused it.
    public let pending: PendingRow?
    /// Received content that the app's table does not show yet. Nil: it shows all.
    public let waiting: ParkedRow?
    /// Refused edits of the row, oldest first.
    public let rejections: [Rejection]

    /// Whether the app's table shows what the server has, as far as this device has heard.
    public var isSynced: Bool { pending == nil && waiting == nil && rejections.isEmpty }
}

extension RowExplanation: CustomStringConvertible {
    /// Sentences for a developer: why, since when, and what comes next. Never compare them.
    public var description: String {
        if isSynced { return "The server has the row as it is here." }
        let sentences = [pending.map(Self.sentence), waiting.map { "Received, and not shown: \($0.reason)" }]
        let refused = rejections.map { "Refused at \($0.at.ISO8601Format()) (\($0.code)): \($0.message)" }
        return (sentences.compactMap(\.self) + refused).joined(separator: " ")
    }

    private static func sentence(_ row: PendingRow) -> String {
        let what =
            switch row.kind {
            case .create: "Its creation is"
            case .update: "Edits of \(row.columns.keys.sorted().joined(separator: ", ")) are"
            case .delete: "Its deletion is"
            }
        let state = row.isInFlight ? "on the way" : row.isUnanswered ? "sent and not answered" : "not sent yet"
        let why = row.waitReason.map { " \($0.message)" } ?? row.blockedBy.map { " It waits for \($0)." } ?? ""
        let next = row.nextAttempt.map { " It is sent again at \($0.ISO8601Format())." } ?? ""
        return "\(what) \(state), since \(row.since.ISO8601Format()).\(why)\(next)"
    }
}

extension Store {
    /// Explains the state of a row: why it is pending, since when, and what is tried next.
    ///
    /// What the engine does now is not part of it: whether it is offline, or whether the server keeps the whole table from this
    /// device, stands in ``SyncStatus``.
    ///
    /// - Parameter record: Any version of the row. Only its table and id count, so the row may be deleted.
    /// - Throws: `OptimistError` with code `invalidTable` if the record's table does not sync, or `DatabaseError`.
    public func explain<Record: SyncedRecord>(_ record: Record) async throws -> RowExplanation {
        let id = try record.databaseDictionary["id"] ?? .null
        guard let layout = layout(named: Record.databaseTableName), let wire = layout.idForm.wire(id) else {
            throw OptimistError(
                .invalidTable,
                "\(Record.databaseTableName) does not sync here. Name its record type when you open the store.")
        }
        let ref = RowRef(table: layout.number, id: id)
        return try await read { db in
            RowExplanation(
                pending: try PendingRow.fetch(db, ref).first, waiting: try ParkedRow.fetch(db, ref).first,
                rejections: try RejectionTable(db).all().filter { $0.table == layout.name && $0.rowID == wire })
        }
    }
}
