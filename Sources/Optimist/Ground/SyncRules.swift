// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// How a table's sync differs from the defaults.
///
/// ```swift
/// struct Photo: Codable, Identifiable, SyncedRecord {
///     static let syncRules = SyncRules(counters: ["likes"], formerColumns: ["caption": "title"])
/// ```
public struct SyncRules: Sendable, Hashable {
    /// Integer columns to which devices add concurrently: the server sums the amounts that each device adds. Default:
    /// none.
    public var counters: Set<String>
    /// Whether an edit later than a row's deletion restores the row. Default: false, so the deletion wins.
    public var editWins: Bool
    /// Columns that a migration renamed: new name to earlier name. Keep entries as long as the app may open files from
    /// before the migration. Default: none.
    public var formerColumns: [String: String]
    /// The table's earlier names, if a migration renamed it. Default: none.
    public var formerNames: [String]
    /// Columns that a migration removed, and whose unsent edits may be dropped. If a column with unsent edits is
    /// missing and neither listed here nor in ``formerColumns``, the store does not open and nothing is lost. Default:
    /// none.
    public var removedColumns: Set<String>
    /// An empty device receives tables with a higher priority first, but never before the tables that they refer to.
    /// Default: 0.
    public var priority: Int
    /// Rules for column values. A write that breaks a rule throws, and nothing is written. `optimist schema` exports
    /// the rules, so that the server checks them too. Default: none.
    public var columns: [String: ColumnRules]
    /// The space that a row is in, if people can share the table's rows. Default: nil, the person's own account.
    public var space: SpaceRule?

    /// Creates rules, with the defaults documented at the properties. ``Store/validate(_:in:migrate:)`` reports columns
    /// that the table does not have.
    public init(
        counters: Set<String> = [], editWins: Bool = false, formerColumns: [String: String] = [:],
        formerNames: [String] = [], removedColumns: Set<String> = [], priority: Int = 0,
        columns: [String: ColumnRules] = [:], space: SpaceRule? = nil
    ) {
        self.counters = counters
        self.editWins = editWins
        self.formerColumns = formerColumns
        self.formerNames = formerNames
        self.removedColumns = removedColumns
        self.priority = priority
        self.columns = columns
        self.space = space
    }

    /// A column's earlier names, latest first. It may have been renamed several times.
    func formerNames(ofColumn column: String) -> [String] {
        var names: [String] = []
        while let former = formerColumns[names.last ?? column], names.count < formerColumns.count {
            names.append(former)
        }
        return names
    }
}
