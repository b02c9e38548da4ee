// This source file is part of the Optimist open source project, under the MIT licence.

/// How far a first sync has come, or a resync. The number of rows never goes back.
public struct SyncProgress: Sendable, Hashable {
    /// The table that is being received. Nil: all tables are here, and the changes since are being received.
    public var table: String?
    /// How many rows have been received.
    public var rows: Int
    /// How much of the whole that is, from 0 to 1, each table counting alike. Nil: unknown, since the remote does not
    /// say.
    public var fraction: Double?

    /// Makes a progress, for tests and previews.
    public init(table: String? = nil, rows: Int = 0, fraction: Double? = nil) {
        self.table = table
        self.rows = rows
        self.fraction = fraction
    }

    /// - Parameter intakes: In the order of their snapshots.
    /// - Returns: Nil if every table is complete.
    init?(_ intakes: [Intake]) {
        let incomplete = intakes.filter { !$0.isComplete }
        if incomplete.isEmpty { return nil }
        rows = intakes.reduce(0) { $0 + $1.received }
        let current = incomplete.first(where: \.awaitsSnapshot)
        table = current?.table
        let done = incomplete.filter { !$0.awaitsSnapshot }.count
        if current == nil {
            fraction = incomplete.contains { $0.total == nil } ? nil : 1
        } else if let current, let total = current.total {
            let part = min(1, Double(current.received) / Double(max(total, 1)))
            fraction = (Double(done) + part) / Double(incomplete.count)
        }
    }
}
