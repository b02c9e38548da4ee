// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistWire

/// A row that the server has not accepted yet, with the names of its unsent columns but without their values.
public struct PendingRow: Hashable, Sendable {
    /// What the next push asks the server to do.
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
    public let rowID: String
    /// What the next push asks the server to do.
    public let kind: Kind
    /// The unsent columns with the time of their last write, by the device's clock. Empty for a delete.
    public let columns: [String: Date]
    /// When the row became pending, by the device's clock.
    public let since: Date
    /// Whether changes of the row were sent, in this launch or an earlier one, and are unanswered.
    public let isUnanswered: Bool
    /// Whether a push is under way while some of the row's changes are unanswered. An earlier push may have carried
    /// them.
    public let isInFlight: Bool
    /// The row that this one waits for, as `Type:id`, if any.
    public let blockedBy: String?
    /// Why the row waits: the server's reason or the device's, for this row or another row of its group. Nil if
    /// unknown.
    public let waitReason: DeferralReason?
    /// When the device sends the row again, by its clock. Nil: as soon as the server is reachable.
    public let nextAttempt: Date?

    /// Returns the pending rows of a store's database, oldest first.
    ///
    /// - Parameters:
    ///   - db: A connection of the store, for example in ``Store/read(_:)``.
    ///   - limit: The maximum number of rows. Default: all.
    /// - Throws: `DatabaseError`.
    public static func fetchAll(_ db: Database, limit: Int = .max) throws -> [PendingRow] {
        try fetch(db, limit: limit)
    }

    static func fetch(_ db: Database, _ only: RowRef? = nil, limit: Int = .max) throws -> [PendingRow] {
        let names = try columnNames(db)
        let isPushing = try Meta.int(.inFlight, in: db) != nil
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, e.tbl, e.id FROM optimist_edit e JOIN optimist_table t ON t.number = e.tbl
                \(only == nil ? "" : "WHERE e.tbl = :table AND e.id = :id") ORDER BY e.grp, e.tbl, e.place LIMIT :limit
                """, arguments: only.arguments(limit: limit))
        let entries = try RowEntryTable(db)
        let waits = try PendingWaits(db)
        return try rows.compactMap { row in
            let ref = RowRef(table: row[1], id: row[2])
            guard let entry = try entries.entry(ref), let edit = entry.local, let id = UUIDForm.bytes.wire(ref.id)
            else { return nil }
            return PendingRow(
                entry, edit, table: row[0], id: id, names: names[ref.table] ?? [:], isInFlight: isPushing,
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
        _ entry: RowEntry, _ edit: LocalEdit, table: String, id: String, names: [Int64: String], isInFlight: Bool,
        _ wait: (reason: DeferralReason?, until: Date)?
    ) {
        self.table = table
        self.rowID = id
        kind = !entry.isAlive ? .delete : entry.isKnownToServer ? .update : .create
        let dirty = names.filter { edit.dirty & (1 << $0.key) != 0 }.values
        columns = Dictionary(
            uniqueKeysWithValues: dirty.map { column in
                let clock = edit.clock(of: column)
                return (column, Date(clock == .ofMigrations ? edit.group : clock.stamp))
            })
        since = Date(edit.group)
        isUnanswered = edit.dirty & edit.sent != 0
        self.isInFlight = isInFlight && isUnanswered
        blockedBy = edit.blocked
        waitReason = wait?.reason
        nextAttempt = wait?.until
    }
}

extension PendingRow: CustomStringConvertible {
    /// All properties as JSON, with ISO 8601 times.
    public var description: String {
        let columns = columns.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value.withMilliseconds)) }
        let json: JSON = [
            "table": .string(table), "id": .string(rowID), "kind": .string(kind.rawValue),
            "columns": .object(JSONObject(columns)), "since": .string(since.withMilliseconds),
            "isUnanswered": .bool(isUnanswered), "isInFlight": .bool(isInFlight),
            "blockedBy": blockedBy.map(JSON.string) ?? .null, "waitReason": waitReason?.json ?? .null,
            "nextAttempt": nextAttempt.map { .string($0.withMilliseconds) } ?? .null,
        ]
        return json.description
    }
}

extension Date {
    fileprivate var withMilliseconds: String {
        ISO8601Format(ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    init(_ stamp: Stamp) { self.init(timeIntervalSince1970: Double(stamp.milliseconds) / 1000) }
}

extension Store {
    /// Returns the pending rows, oldest first.
    ///
    /// - Parameter limit: The maximum number of rows. Default: all.
    /// - Throws: `DatabaseError`.
    public func pendingRows(limit: Int = .max) async throws -> [PendingRow] {
        try await read { try PendingRow.fetchAll($0, limit: limit) }
    }
}
