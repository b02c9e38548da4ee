// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// How a table syncs, where it differs from the defaults.
///
/// ```swift
/// struct Photo: Codable, Identifiable, SyncedRecord {
///     static let syncRules = SyncRules(counters: ["likes"], formerColumns: ["caption": "title"])
/// ```
public struct SyncRules: Sendable, Hashable {
    /// Columns of whole numbers that several devices count in: the amounts that they add are summed. Default: none.
    public var counters: Set<String>
    /// Whether an edit that is later than the row's deletion brings the row back. Default: false, so a deletion stands.
    public var editWins: Bool
    /// Columns that a migration of the app has renamed: the earlier name, by the new name. Keep them as long as the app may
    /// open files from before the migration. Default: none.
    public var formerColumns: [String: String]
    /// The table's earlier names, if a migration of the app has renamed it. Default: none.
    public var formerNames: [String]
    /// Columns that a migration of the app has removed, whose unsent edits are given up. If a column with unsent edits is gone
    /// and is named neither here nor in ``formerColumns``, the store does not open, and nothing is given up. Default: none.
    public var removedColumns: Set<String>
    /// Tables of a higher priority are received first when a device starts empty, but never before the tables that they
    /// refer to. Default: 0.
    public var priority: Int
    /// Rules for the values of columns. A write that breaks one throws, and nothing is written. `optimist schema` exports
    /// them, so that the server checks them too. Default: none.
    public var columns: [String: ColumnRules]

    /// Makes rules. Each parameter has the default that its property names. ``Store/validate(_:in:migrate:)`` finds columns
    /// that the table does not have.
    public init(
        counters: Set<String> = [], editWins: Bool = false, formerColumns: [String: String] = [:],
        formerNames: [String] = [], removedColumns: Set<String> = [], priority: Int = 0,
        columns: [String: ColumnRules] = [:]
    ) {
        self.counters = counters
        self.editWins = editWins
        self.formerColumns = formerColumns
        self.formerNames = formerNames
        self.removedColumns = removedColumns
        self.priority = priority
        self.columns = columns
    }

    /// The earlier names of a column, the latest first. A column may have been renamed several times.
    func formerNames(ofColumn column: String) -> [String] {
        var names: [String] = []
        while let former = formerColumns[names.last ?? column], names.count < formerColumns.count {
            names.append(former)
        }
        return names
    }
}
