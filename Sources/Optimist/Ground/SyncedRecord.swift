// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

/// An ordinary GRDB record whose table is kept in step with the server.
///
/// The table needs a primary key column `id` that holds a UUID. ``Store/validate(_:in:migrate:)`` explains what else matters.
///
/// The view `optimist_state_TABLE` has the sync state of each row: `synced`, `pending`, `inFlight`, `rejected`, `blocked` or
/// `parked`. Join it by `id`. A row is `synced` as soon as the server has accepted it. The column `isEchoed` tells whether the pages
/// that this device has received reach the server's last word on the row: 0 between the server's acceptance and the page that
/// brings the row, and 1 after that. It is null if the server has not said anything of the row, during the first sync of the table, or
/// if the server's cursors do not tell.
///
/// ```swift
/// struct Todo: Codable, Identifiable, SyncedRecord {
///     var id = UUID()
///     var content: String
///     var done = false
/// }
/// ```
public protocol SyncedRecord: FetchableRecord, PersistableRecord, Equatable, Sendable {
    /// How the table syncs, where it differs from the defaults. Default: it does not differ.
    static var syncRules: SyncRules { get }
}

extension SyncedRecord {
    public static var syncRules: SyncRules { SyncRules() }
}
