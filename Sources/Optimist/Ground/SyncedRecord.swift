// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

/// A GRDB record whose table syncs.
///
/// The table needs a primary key column `id` that holds a UUID. ``Store/validate(_:in:migrate:)`` reports other
/// requirements.
///
/// The view `optimist_state_TABLE`, to join by `id`, has the sync state of each row: `synced` when the server has
/// accepted the row, or `pending`, `inFlight`, `rejected`, `blocked` or `parked`. The view's column `isEchoed` becomes
/// 1 when this device has received the page with the server's version. `isEchoed` is null if the server has never had
/// the row, during the table's first sync, and if the server's cursors are not ordered.
///
/// ```swift
/// struct Todo: Codable, Identifiable, SyncedRecord {
///     var id = UUID()
///     var content: String
///     var done = false
/// }
/// ```
public protocol SyncedRecord: FetchableRecord, PersistableRecord, Equatable, Sendable {
    /// How the table's sync differs from the defaults. Default: not at all.
    static var syncRules: SyncRules { get }
}

extension SyncedRecord {
    public static var syncRules: SyncRules { SyncRules() }
}
