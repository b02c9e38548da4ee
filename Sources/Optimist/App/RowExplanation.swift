// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The state of one row between this device and the server: its unsent edit, the content that waits, and its refusals.
public struct RowExplanation: Hashable, Sendable {
    /// The unsent edit of the row. Nil: the server has accepted everything, or refused it.
    public let pending: PendingRow?
    /// Received content that the app's table does not show yet. Nil: it shows all.
    public let parked: ParkedRow?
    /// Refused edits of the row, oldest first.
    public let rejections: [Rejection]
    /// What the server has said of the row.
    public let serversWord: ServersWord

    /// What the server has said of a row, as far as this device has heard.
    public enum ServersWord: Hashable, Sendable {
        /// Nothing, or it has lost the row.
        case nothing
        /// The row is deleted.
        case deleted
        /// The account was deleted, with everything that the server had of it. The device sends nothing to it.
        case accountDeleted
        /// The row is alive, and this device has yet to receive it.
        case awaited
        /// The row is alive. The server has no value of the columns in `lacking`, in which this device has one that is not
        /// unsent: a migration filled them. A value is sent when the user edits it. The columns are sorted by name.
        case alive(lacking: [String])
    }

    /// Whether the app's table shows what the server has, as far as this device has heard. False if the server has said nothing
    /// of the row.
    public var isSynced: Bool { isSettled && (serversWord == .deleted || serversWord == .alive(lacking: [])) }

    private var isSettled: Bool { pending == nil && parked == nil && rejections.isEmpty }
}

extension RowExplanation: CustomStringConvertible {
    /// Sentences for a developer: why, since when, and what comes next. Never compare them.
    public var description: String {
        if isSettled { return settled }
        let sentences = [
            serversWord == .accountDeleted ? settled : nil, pending.map(Self.sentence),
            parked.map { "Received, and not shown: \($0.reason)" },
        ]
        let refused = rejections.map { "Refused at \($0.date.ISO8601Format()) (\($0.code)): \($0.message)" }
        return (sentences.compactMap(\.self) + refused).joined(separator: " ")
    }

    private var settled: String {
        switch serversWord {
        case .nothing: "Nothing of the row is unsent, and the server has not said anything of it."
        case .deleted: "The row is deleted, on the server too."
        case .accountDeleted: "The account was deleted: the server has nothing of it. The row stays on this device."
        case .awaited: "The server has the row, and this device has yet to receive it."
        case .alive(lacking: []): "The server has the row as it is here."
        case .alive(let columns):
            "The server has the row, but no value of \(columns.joined(separator: ", ")): a migration filled that here, and "
                + "it is sent when it is edited."
        }
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
            let values = try AppTable(layout: layout, db: db).values(id)
            return RowExplanation(
                pending: try PendingRow.fetch(db, ref).first, parked: try ParkedRow.fetch(db, ref).first,
                rejections: try RejectionTable(db).all().filter { $0.table == layout.name && $0.rowID == wire },
                serversWord: try FileOwner(in: db).isDeleted
                    ? .accountDeleted : RowEntryTable(db).entry(ref)?.serversWord(values, in: layout) ?? .nothing)
        }
    }
}

extension RowEntry {
    /// - Parameter values: The row as the app's table shows it. Nil: the table does not have it.
    fileprivate func serversWord(_ values: JSONObject?, in layout: TableLayout) -> RowExplanation.ServersWord {
        if remote.generation == 0 { return .nothing }
        if !remote.isAlive { return .deleted }
        guard let values, !remote.isElsewhere else { return .awaited }
        let lacking = layout.columns.filter { column in
            !column.isCounter && (remote.presence.columns | dirty) & column.mask == 0
                && values[column.name]?.isNull == false
        }
        return .alive(lacking: lacking.map(\.name).sorted())
    }
}
