// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// The scope that a row has moved to.
struct MoveDestination: Equatable {
    let scope: Int64
    let generation: Int
    let clock: WriteClock?
    /// The transaction in which the row left for it.
    let seq: Int64

    /// Nil if the person does not use the account, so that the row has ended for them.
    init?(_ told: RowDestination, at seq: Int64, in db: Database) throws {
        guard let scope = try Scope.number(ofAccount: told.account, in: db) else { return nil }
        self.scope = scope
        generation = told.generation
        clock = told.clock
        self.seq = seq
    }
}
