// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The sync state of one row: its unsent edit, its parked content and its rejections.
public struct RowExplanation: Hashable, Sendable {
    /// The row's unsent edit. Nil if the server has accepted or refused everything.
    public let pending: PendingRow?
    /// Received content that the app's table does not show yet.
    public let parked: ParkedRow?
    /// The row's refused edits, oldest first.
    public let rejections: [Rejection]
    /// The server's state of the row.
    public let serversWord: ServersWord

    /// The server's state of a row, as far as this device knows.
    public enum ServersWord: Hashable, Sendable {
        /// The server does not have the row, as far as this device knows, or has lost it.
        case nothing
        /// The server has deleted the row.
        case deleted
        /// The account was deleted, with all its data on the server. The device sends nothing to it.
        case accountDeleted
        /// The server has the row, but this device has not received it yet.
        case awaited
        /// The server has the row, but without values for the columns in `lacking`, sorted by name. This device has
        /// values for them that are not pending, because a migration filled them in. The device sends a value when the
        /// user edits it.
        case alive(lacking: [String])
    }

    /// Whether the app's table shows the server's row, as far as this device knows. False if the server does not have
    /// the row.
    public var isSynced: Bool { isSettled && (serversWord == .deleted || serversWord == .alive(lacking: [])) }

    private var isSettled: Bool { pending == nil && parked == nil && rejections.isEmpty }
}

extension RowExplanation: CustomStringConvertible {
    /// A description for developers. Never compare it.
    public var description: String {
        if isSettled { return settled }
        let sentences = [
            serversWord == .accountDeleted ? settled : nil, pending.map(Self.sentence),
            parked.map { "Received but not shown: \($0.reason)" },
        ]
        let refused = rejections.map { "Refused at \($0.date.ISO8601Format()) (\($0.code)): \($0.message)" }
        return (sentences.compactMap(\.self) + refused).joined(separator: " ")
    }

    private var settled: String {
        switch serversWord {
        case .nothing: "The row has no unsent changes, and the server does not have it."
        case .deleted: "The row is deleted here and on the server."
        case .accountDeleted: "The account and its data on the server were deleted. The row stays on this device."
        case .awaited: "The server has the row, but this device has not received it yet."
        case .alive(lacking: []): "The server has the same row."
        case .alive(let columns):
            "The server has the row without values for \(columns.joined(separator: ", ")): a migration filled these "
                + "in, and the device sends a value after the user edits it."
        }
    }

    private static func sentence(_ row: PendingRow) -> String {
        let what =
            switch row.kind {
            case .create: "Its creation is"
            case .update: "Edits of \(row.columns.keys.sorted().joined(separator: ", ")) are"
            case .delete: "Its deletion is"
            }
        let state = row.isInFlight ? "being sent" : row.isUnanswered ? "sent but not answered" : "not sent yet"
        let why = row.waitReason.map { " \($0.message)" } ?? row.blockedBy.map { " It waits for \($0)." } ?? ""
        let next = row.nextAttempt.map { " The next attempt is at \($0.ISO8601Format())." } ?? ""
        return "\(what) \(state) (pending since \(row.since.ISO8601Format())).\(why)\(next)"
    }
}

extension Store {
    /// Explains a row's sync state: why it is pending, since when, and what happens next.
    ///
    /// For the engine's own state, such as being offline or a withheld table, see ``SyncStatus``.
    ///
    /// - Parameter record: Any version of the row. Only its table and id count, so the row may have been deleted.
    /// - Throws: `OptimistError` with code `invalidTable` if the record's table does not sync, or `DatabaseError`.
    public func explain<Record: SyncedRecord>(_ record: Record) async throws -> RowExplanation {
        let id = try record.databaseDictionary["id"] ?? .null
        guard let layout = layout(named: Record.databaseTableName), let wire = layout.idForm.wire(id) else {
            throw OptimistError(
                .invalidTable,
                "\(Record.databaseTableName) does not sync here. Pass its record type when you open the store.")
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
    /// - Parameter values: The row in the app's table. Nil if the table does not have it.
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
