// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// Rows of one type that an operator imports together.
@_spi(Internals) public struct RowsToImport: Sendable {
    public struct Row: Sendable {
        /// A lower-case UUID.
        public var id: String
        /// The columns. A counter is its sum.
        public var values: JSONObject

        public init(id: String, values: JSONObject) {
            self.id = id
            self.values = values
        }
    }

    /// The current name of the type.
    public var type: String
    /// The rows of each account, by the account's id.
    public var rows: [String: [Row]]
    /// The time of all values, in milliseconds since 1970. A time in the future counts as now.
    public var milliseconds: Int64
    /// Whether to check the rows without storing them.
    public var isDryRun: Bool

    public init(type: String, rows: [String: [Row]], milliseconds: Int64, isDryRun: Bool) {
        self.type = type
        self.rows = rows
        self.milliseconds = milliseconds
        self.isDryRun = isDryRun
    }
}

/// The effect of importing one row.
@_spi(Internals) public enum ImportVerdict: Hashable, Sendable {
    /// The row is new, or has new values.
    case written
    /// The server has the same values, or later ones.
    case unchanged
    /// The server's row was deleted, was merged into another row, or moved to another account. It stays as it is.
    case gone
    /// The row breaks a rule. The other rows are not affected.
    case refused(code: String, message: String)
}

/// The effect of importing some rows.
@_spi(Internals) public struct ImportOutcome: Sendable {
    /// The verdicts of each account's rows, in the order of the rows.
    public var verdicts: [String: [ImportVerdict]] = [:]
    /// The changed accounts, in the order of their ids.
    public var changes: [JMAPService.AccountChange] = []

    public init() {}
}
