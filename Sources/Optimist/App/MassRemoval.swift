// This source file is part of the Optimist open source project, under the MIT licence.

/// Rows that the engine is about to remove from this device because the server no longer has them: more than half of a
/// table, and more than 100 rows.
///
/// This happens if the user lost access, or if the account was emptied during an absence longer than the server
/// remembers deleted rows.
public struct MassRemoval: Sendable, Hashable {
    /// What happens to the rows. Rows with unsent changes stay in both cases.
    public enum Decision: Sendable, Hashable {
        /// Removes the rows, except rows with unsent changes. The engine sends the rows that stay: completely, or as
        /// new rows if their table has counters.
        case remove
        /// Keeps the rows and sends them as new rows. Rows that the server refuses become rejections. The default.
        case keep
    }

    static let leastRows = 100

    /// The number of rows to remove, by table.
    public var rows: [String: Int]
    /// The number of rows of these tables on this device, by table.
    public var total: [String: Int]

    /// Creates a mass removal, for tests of the app's answer.
    public init(rows: [String: Int], total: [String: Int]) {
        self.rows = rows
        self.total = total
    }

    /// Whether an answer also covers `other`: whether `other` removes no more rows of any table.
    func covers(_ other: MassRemoval) -> Bool { other.rows.allSatisfy { $0.value <= rows[$0.key] ?? 0 } }

    /// Whether the engine must ask the app.
    var isMass: Bool {
        rows.contains { table, count in count > Self.leastRows && count * 2 > total[table] ?? 0 }
    }
}
