// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
import OptimistWire

/// A row that this device has received but the app's table does not show yet.
///
/// Whenever a change may let the row in, the engine retries it. ``SyncCounts/parked`` counts these rows.
public struct ParkedRow: Hashable, Sendable {
    /// Why a row is parked.
    public enum Reason: Hashable, Sendable {
        /// The row refers to a row that is not on this device, given by table and lower-case UUID.
        case missingParent(table: String, id: String)
        /// Another row already has one of the row's unique values. SQLite's message names the columns.
        case valueTaken(String)
        /// A constraint (such as `CHECK` or `NOT NULL`) or a trigger of the app refuses the row with this message. A
        /// newer version of the app may accept it.
        case constraint(String)
        /// The server has deleted the row. The deletion could cascade to rows that have moved to another parent. Later
        /// pages will show the moves.
        case deletionTooSoon
        /// This device has deleted or recreated the row, or is resending such a change that the server lost. The server
        /// has not answered yet.
        case unsentChange
        /// The row's id is in use in another space on this device.
        case idInOtherSpace
    }

    /// The table of the row.
    public let table: String
    /// The row's lower-case UUID.
    public let rowID: String
    /// Whether the server has deleted the row, which the app's table still shows.
    public let isDeletion: Bool
    /// Why the row is parked.
    public let reason: Reason

    /// Returns the parked rows of a store's database, in the order of the server's transactions. Can be used in
    /// ``Store/observe(_:)``.
    ///
    /// - Parameters:
    ///   - db: A connection of the store, for example in ``Store/read(_:)``.
    ///   - limit: The maximum number of rows. Default: all.
    /// - Throws: `DatabaseError`.
    public static func fetchAll(_ db: Database, limit: Int = .max) throws -> [ParkedRow] {
        try fetch(db, limit: limit)
    }

    static func fetch(_ db: Database, _ only: RowRef? = nil, limit: Int = .max) throws -> [ParkedRow] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, p.id, p.row ->> '$.id' IS NULL, p.reason, p.message, parent.name, p.parent
                FROM optimist_parked p JOIN optimist_table t ON t.number = p.tbl
                LEFT JOIN optimist_table parent ON parent.number = p.parentTable
                \(only == nil ? "" : "WHERE p.tbl = :table AND p.id = :id") ORDER BY p.seq, p.tbl, p.id LIMIT :limit
                """, arguments: only.arguments(limit: limit)
        ).compactMap { row in
            guard let id = UUIDForm.bytes.wire(row[1]) else { return nil }
            return ParkedRow(table: row[0], rowID: id, isDeletion: row[2], reason: reason(row))
        }
    }

    private static func reason(_ row: Row) -> Reason {
        if let table = row[5] as String?, let id = UUIDForm.bytes.wire(row[6]) {
            return .missingParent(table: table, id: id)
        }
        let message = row[4] as String? ?? "A constraint of the table does not allow the row."
        return switch ParkedReason.Kind(rawValue: row[3]) {
        case .valueTaken: .valueTaken(message)
        case .deletionTooSoon: .deletionTooSoon
        case .belowUnsent: .unsentChange
        case .claim: .idInOtherSpace
        case .constraint, nil: .constraint(message)
        }
    }
}

extension ParkedRow.Reason: CustomStringConvertible {
    /// A sentence for developers. Never compare it: switch on the case.
    public var description: String {
        switch self {
        case .missingParent(let table, let id): "It refers to \(table):\(id), which is not on this device."
        case .valueTaken(let message), .constraint(let message): message
        case .deletionTooSoon: "Rows that refer to it may have moved to another parent."
        case .idInOtherSpace: "Another space on this device has a row with this id."
        case .unsentChange: "The server must answer the row's unsent change first."
        }
    }
}

extension Store {
    /// Returns the received rows that the app's tables do not show yet.
    ///
    /// - Parameter limit: The maximum number of rows. Default: all.
    /// - Throws: `DatabaseError`.
    public func parkedRows(limit: Int = .max) async throws -> [ParkedRow] {
        try await read { try ParkedRow.fetchAll($0, limit: limit) }
    }
}
