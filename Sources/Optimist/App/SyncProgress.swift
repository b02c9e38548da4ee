// This source file is part of the Optimist open source project, under the MIT licence.

/// The progress of a first sync or a resync. The number of rows never decreases.
public struct SyncProgress: Sendable, Hashable {
    /// The table being received. Nil when all tables have arrived and only later changes are missing.
    public var table: String?
    /// The number of rows received.
    public var rows: Int
    /// The fraction done, from 0 to 1, with equal weight for each table. Nil if the remote does not report table sizes.
    public var fraction: Double?

    /// Creates a progress, for tests and previews.
    public init(table: String? = nil, rows: Int = 0, fraction: Double? = nil) {
        self.table = table
        self.rows = rows
        self.fraction = fraction
    }
}
