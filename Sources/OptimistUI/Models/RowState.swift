// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
public import Optimist

/// The sync state of one row, for a badge in a list.
public enum RowState: String, Sendable, Hashable, CaseIterable {
    /// The server has the same version as the device.
    case synced
    /// The row has changes that the server has not accepted yet.
    case pending
    /// The changes are being sent.
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
    ///   - record: Any version of the row: only its table and id are used.
    ///   - db: A connection within a read or a write of a store that syncs the table.
    /// - Returns: Nil if the table does not have such a row, or if a later version of Optimist stored a state that this
    ///   one does not know.
    /// - Throws: `DatabaseError`, for example if the file was never opened by a store that syncs the table.
    public static func fetch<Record: SyncedRecord>(_ record: Record, in db: Database) throws -> RowState? {
        let id = try record.databaseDictionary["id"] ?? .null
        let view = "optimist_state_\(Record.databaseTableName)".quotedDatabaseIdentifier
        let state = try String.fetchOne(db, sql: "SELECT state FROM \(view) WHERE id = ?", arguments: [id])
        return state.flatMap(RowState.init)
    }

    /// A short English label for display and assistive technologies. An app in other languages provides its own.
    public var label: String {
        switch self {
        case .synced: "Synced"
        case .pending, .inFlight: "Not sent yet"
        case .rejected: "Refused"
        case .blocked: "Waiting for another item"
        case .parked: "Waiting for other data"
        }
    }

    /// The name of an SF Symbol. Nil for ``synced``.
    public var symbol: String? {
        switch self {
        case .synced: nil
        case .pending, .inFlight: "arrow.up.circle"
        case .rejected: "exclamationmark.circle"
        case .blocked, .parked: "clock"
        }
    }
}
