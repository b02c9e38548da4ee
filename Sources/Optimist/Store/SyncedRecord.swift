// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

/// An ordinary GRDB record whose table is kept in step with the server.
///
/// The table needs a primary key column `id` that holds a UUID. ``Store/validate(_:in:)`` explains what else matters.
///
/// The view `optimist_state_TABLE` has the sync state of each row, to be joined by `id`: `synced`, `pending`, `inFlight`,
/// `rejected`, `blocked` or `parked`.
///
/// ```swift
/// struct Todo: Codable, Identifiable, SyncedRecord {
///     var id = UUID()
///     var content: String
///     var done = false
/// }
/// ```
public protocol SyncedRecord: FetchableRecord, PersistableRecord, Equatable, Sendable {
    /// How the table syncs, where that is not the usual way. Default: in every respect the usual way.
    static var syncRules: SyncRules { get }
}

extension SyncedRecord {
    public static var syncRules: SyncRules { SyncRules() }
}
