// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// What is the same for every request that a ``JMAPService`` answers.
public struct ServingSettings: Sendable {
    /// Judges what is asked of one row, beyond what the schema says. Nil: it may be.
    ///
    /// Called before the row is merged, in the account's transaction, perhaps more than once. A refused row fails its group.
    public typealias Validation = @Sendable (RowOperation) -> SetError?

    public var schema: Schema
    /// The present life of the store.
    public var epoch: String
    /// Makes the id of a row whose client did not: a lower-case UUID.
    public var makeRowID: @Sendable () -> String
    /// For how many days deleted rows are remembered. Whoever runs a ``TombstoneSweep`` gives it the same number.
    public var tombstoneDays: Int
    /// The most rows of one page of changes or of a snapshot, whatever a client asks for.
    public var pageRows: Int
    /// How long one request may keep all others from writing.
    public var workBudget: WorkBudget
    public var validate: Validation

    /// - Parameters:
    ///   - tombstoneDays: Default: 90.
    ///   - pageRows: At least 1. Default: 20,000.
    ///   - workBudget: Default: ``WorkBudget/standard``.
    ///   - validate: Default: everything may be that the schema allows.
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
