// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// The settings of a ``JMAPService``, shared by all requests.
@_spi(Internals) public struct ServingSettings: Sendable {
    /// Checks a write to one row beyond the rules of the schema. Nil: the write is allowed.
    ///
    /// The service calls the function before it merges the row, within the account's transaction, possibly more than
    /// once. A refused row fails its group.
    public typealias Validation = @Sendable (RowOperation) -> SetError?

    /// The types and columns that clients may write. The caller must have checked the schema with `Schema.check()`.
    public var schema: Schema
    /// The names of the engine's own types, which are part of ``schema`` if the schema lets rows be in spaces. Default:
    /// the names that devices know.
    public var spaceTypes: SpaceTypes
    /// How much spaces may take. Default: as in ``SpaceLimits``.
    public var spaceLimits: SpaceLimits
    /// Makes a row's id, a lower-case UUID, if the client did not choose an id.
    public var makeRowID: @Sendable () -> String
    /// How many days the server remembers deleted rows. Pass the same number to ``TombstoneSweep``. Default: 90.
    public var tombstoneDays: Int
    /// The most rows in one page of changes or of a snapshot, whatever a client requests. At least 1. Default: 20,000.
    public var pageRows: Int
    /// How long one request may block other writes. Default: ``WorkBudget/standard``.
    public var workBudget: WorkBudget
    /// Checks each write. Default: allows everything that the schema allows.
    public var validate: Validation
    /// The app's checks of its rows. Default: none.
    ///
    /// The service calls the checks with each row after the merge, within the account's transaction, possibly more than
    /// once. A row that the write does not change is not checked. A refused row fails its group.
    public var rowValidation: RowValidation
    /// The app's hook, which may refuse or amend each group within the transaction. Default: nil.
    public var hook: GroupHook?

    /// Makes settings. Each parameter sets the property of the same name.
    public init(
        schema: Schema, makeRowID: @escaping @Sendable () -> String,
        tombstoneDays: Int = RowSync.Limit.tombstoneDays, pageRows: Int = RowSync.Limit.maxPageRows,
        workBudget: WorkBudget = .standard, validate: @escaping Validation = { _ in nil },
        rowValidation: RowValidation = RowValidation(), hook: GroupHook? = nil,
        spaceTypes: SpaceTypes = SpaceTypes(), spaceLimits: SpaceLimits = SpaceLimits()
    ) {
        self.schema = spaceTypes.added(to: schema)
        self.spaceTypes = spaceTypes
        self.spaceLimits = spaceLimits
        self.makeRowID = makeRowID
        self.tombstoneDays = tombstoneDays
        self.pageRows = max(1, pageRows)
        self.workBudget = workBudget
        self.validate = validate
        self.rowValidation = rowValidation
        self.hook = hook
    }
}
