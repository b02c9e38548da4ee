// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistWire

/// A row that the server has not accepted yet: the names of its unsent columns, never their values.
public struct PendingRow: Hashable, Sendable {
    /// What the next push asks of the server.
    public enum Kind: String, Sendable {
        /// To create the row, which the server does not have as far as this device knows.
        case create
        /// To change the row.
        case update
        /// To delete the row.
        case delete
    }

    /// The table of the row.
    public let table: String
    /// The row's lower-case UUID.
    public let id: String
    /// What the next push asks of the server.
    public let kind: Kind
    /// The unsent columns with the times of their last writes, by the device's clock. Empty for a delete.
    public let columns: [String: Date]
    /// When the row became pending, by the device's clock.
    public let since: Date
    /// Whether a part of it was sent, in this launch or an earlier one, and the answer never came.
    public let isUnanswered: Bool
    /// Whether a part of it is on its way to the server now.
    public let isInFlight: Bool
    /// The row that it waits for, as `Type:id`. Nil: it waits for none.
    public let blockedBy: String?
    /// Why the server has not taken the row so far, as it said about the row or about others of its group. Nil: it did
    /// not say.
    public let waitReason: WaitReason?
    /// When it is sent again, by the device's clock. Nil: as soon as the server can be reached.
    public let nextAttempt: Date?

    /// Returns the pending rows in a database that a store has written, oldest first.
    ///
    /// - Parameters:
    ///   - db: A connection within a read or a write.
    ///   - limit: The most rows to return. Default: all.
    /// - Throws: `DatabaseError`.
    public static func fetchAll(_ db: Database, limit: Int = .max) throws -> [PendingRow] {
        let names = try columnNames(db)
        let isPushing = try Meta.int(.inFlight, in: db) != nil
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, r.tbl, r.id FROM optimist_row r JOIN optimist_table t ON t.number = r.tbl
                WHERE r.pending IS NOT NULL ORDER BY r.pending, r.key LIMIT ?
                """, arguments: [limit])
        let entries = try RowEntryTable(db)
        let waits = try PendingWaits(db)
        return try rows.compactMap { row in
            let ref = RowRef(table: row[1], id: row[2])
            guard let entry = try entries.entry(ref), let id = UUIDForm.bytes.wire(ref.id) else { return nil }
            return PendingRow(
                entry, table: row[0], id: id, names: names[ref.table] ?? [:], isInFlight: isPushing,
                waits.wait(of: entry))
        }
    }

    private static func columnNames(_ db: Database) throws -> [Int64: [Int64: String]] {
        var names: [Int64: [Int64: String]] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT tbl, bit, name FROM optimist_column WHERE bit > 0") {
            names[row[0], default: [:]][row[1]] = row[2]
        }
        return names
    }

    private init(
        _ entry: RowEntry, table: String, id: String, names: [Int64: String], isInFlight: Bool,
        _ wait: (reason: WaitReason?, until: Date)?
    ) {
        self.table = table
        self.id = id
        kind = !entry.isAlive ? .delete : entry.isKnownToServer ? .update : .create
        let dirty = names.filter { entry.dirty & (1 << $0.key) != 0 }.values
        columns = Dictionary(uniqueKeysWithValues: dirty.map { ($0, Date(entry.unsentStamp(of: $0))) })
        since = Date(entry.pending ?? .zero)
        isUnanswered = entry.dirty & entry.sent != 0
        self.isInFlight = isInFlight && isUnanswered
        blockedBy = entry.blocked
        waitReason = wait?.reason
        nextAttempt = wait?.until
    }
}

extension Date {
    /// The time of day that a stamp carries.
    init(_ stamp: Stamp) { self.init(timeIntervalSince1970: Double(stamp.milliseconds) / 1000) }
}

extension Store {
    /// Returns the pending rows, oldest first.
    ///
    /// - Parameter limit: The most rows to return. Default: all.
    /// - Throws: `DatabaseError`.
    public func outbox(limit: Int = .max) async throws -> [PendingRow] {
        try await read { try PendingRow.fetchAll($0, limit: limit) }
    }
}
