// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// The settings of a ``JMAPService``, the same for every request.
public struct ServingSettings: Sendable {
    /// Judges a write to one row, beyond what the schema says. Nil: it is allowed.
    ///
    /// The service calls it before the row is merged, in the account's transaction, perhaps more than once. A refused
    /// row fails its group.
    public typealias Validation = @Sendable (RowOperation) -> SetError?

    /// The types and columns that clients may write. The caller has checked it: see `Schema.check()`.
    public var schema: Schema
    /// The present life of the store, 1 to 64 ASCII letters and digits. Pass another one whenever the store may have
    /// gone back.
    public var epoch: String
    /// Makes the id of a row whose client did not choose one: a lower-case UUID.
    public var makeRowID: @Sendable () -> String
    /// How many days deleted rows are remembered. Pass the same number to ``TombstoneSweep``. Default: 90.
    public var tombstoneDays: Int
    /// The most rows of one page of changes or of a snapshot, whatever a client asks for. At least 1. Default: 20,000.
    public var pageRows: Int
    /// How long one request may keep all others from writing. Default: ``WorkBudget/standard``.
    public var workBudget: WorkBudget
    /// Judges each write beyond what the schema says. Default: allows all.
    public var validate: Validation

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - schema: The types and columns.
    ///   - epoch: The present life of the store.
    ///   - makeRowID: Makes a lower-case UUID. Called on any thread.
    ///   - tombstoneDays: Default: 90.
    ///   - pageRows: At least 1. Default: 20,000.
    ///   - workBudget: Default: ``WorkBudget/standard``.
    ///   - validate: Default: allows everything that the schema allows.
    public init(
        schema: Schema, epoch: String, makeRowID: @escaping @Sendable () -> String,
        tombstoneDays: Int = RowSync.Limit.tombstoneDays, pageRows: Int = RowSync.Limit.maxPageRows,
        workBudget: WorkBudget = .standard, validate: @escaping Validation = { _ in nil }
    ) {
        self.schema = schema
        self.epoch = epoch
        self.makeRowID = makeRowID
        self.tombstoneDays = tombstoneDays
        self.pageRows = max(1, pageRows)
        self.workBudget = workBudget
        self.validate = validate
    }
}
