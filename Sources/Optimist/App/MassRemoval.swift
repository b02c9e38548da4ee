// This source file is part of the Optimist open source project, under the MIT licence.

/// Rows that the engine is about to remove from this device, because the server no longer has them: more than half of a
/// table, and more than 100 rows.
///
/// This happens when access was revoked, or when an account was emptied while this device was away for longer than the
/// server remembers deleted rows.
public struct MassRemoval: Sendable, Hashable {
    /// What happens to the rows. Rows with unsent changes stay in either case.
    public enum Decision: Sendable, Hashable {
        /// The rows are removed from this device, except those with unsent changes: these are sent whole, or as new
        /// rows if their table has counters.
        case remove
        /// The rows stay, and are sent as new rows. Rows that the server refuses become rejections. The default.
        case keep
    }

    /// The app is not asked if a table loses this many rows or fewer.
    static let leastRows = 100

    /// How many rows would be removed, by table.
    public var rows: [String: Int]
    /// How many rows these tables have on this device, by table.
    public var total: [String: Int]

    /// Makes a question, for tests of the app's answer.
    public init(rows: [String: Int], total: [String: Int]) {
        self.rows = rows
        self.total = total
    }

    /// Whether an answer about these rows is an answer about others too, because no table loses more of them.
    func covers(_ other: MassRemoval) -> Bool { other.rows.allSatisfy { $0.value <= rows[$0.key] ?? 0 } }

    /// Whether the engine must ask the app.
    var isMass: Bool {
        rows.contains { table, count in count > Self.leastRows && count * 2 > total[table] ?? 0 }
    }
}
