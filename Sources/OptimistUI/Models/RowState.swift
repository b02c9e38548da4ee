// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
public import Optimist

/// The state of one row between this device and the server, for a badge beside the row.
public enum RowState: String, Sendable, Hashable, CaseIterable {
    /// The server has the row as it is here.
    case synced
    /// The row has changes that the server has not accepted yet.
    case pending
    /// The changes are on their way to the server.
    case inFlight
    /// The server refused a change of the row.
    case rejected
    /// The changes wait for another row.
    case blocked
    /// The server has content for the row that this device cannot show yet.
    case parked

    /// Reads the state of a row.
    ///
    /// - Parameters:
    ///   - record: Any version of the row: only its table and id count.
    ///   - db: A connection within a read or a write of a store that syncs the table.
    /// - Returns: Nil if the table has no such row, or if the state is one of a later version.
    /// - Throws: `DatabaseError`, for example if no store that syncs the table has opened the file.
    public static func fetch<Record: SyncedRecord>(_ record: Record, in db: Database) throws -> RowState? {
        let id = try record.databaseDictionary["id"] ?? .null
        let view = "optimist_state_\(Record.databaseTableName)".quotedDatabaseIdentifier
        let state = try String.fetchOne(db, sql: "SELECT state FROM \(view) WHERE id = ?", arguments: [id])
        return state.flatMap(RowState.init)
    }

    /// A word to show or to speak. English; an app in other languages has words of its own.
    public var label: String {
        switch self {
        case .synced: "Synced"
        case .pending, .inFlight: "Not sent yet"
        case .rejected: "Refused"
        case .blocked: "Waits for another item"
        case .parked: "Waits for other data"
        }
    }

    /// The name of a symbol of SF Symbols. Nil: there is nothing to show.
    public var symbol: String? {
        switch self {
        case .synced: nil
        case .pending, .inFlight: "arrow.up.circle"
        case .rejected: "exclamationmark.circle"
        case .blocked, .parked: "clock"
        }
    }
}
