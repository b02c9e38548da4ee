// This source file is part of the Optimist open source project, under the MIT licence.

/// How far a first sync or a resync has come. The number of rows never goes back.
public struct SyncProgress: Sendable, Hashable {
    /// The table that the device is receiving. Nil: it has received all tables, and now receives the changes made since.
    public var table: String?
    /// How many rows have been received.
    public var rows: Int
    /// The fraction of the whole, from 0 to 1, with the same weight for each table. Nil: unknown, because the remote
    /// does not say.
    public var fraction: Double?

    /// Makes a progress, for tests and previews.
    public init(table: String? = nil, rows: Int = 0, fraction: Double? = nil) {
        self.table = table
        self.rows = rows
        self.fraction = fraction
    }
}
