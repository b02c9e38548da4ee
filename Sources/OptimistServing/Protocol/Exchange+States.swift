// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Checks the states that clients send.
extension Exchange {
    /// Reads a state from which a client wants to continue.
    ///
    /// - Parameter knowsEpochs: Whether the client understands `forked`. A client that knows only the RFC gets an error
    ///   that it understands instead, and fetches everything again.
    /// - Throws: ``MethodError`` `cannotCalculateChanges` or `forked`.
    func place(_ text: String, knowsEpochs: Bool) throws -> KnownState {
        guard let state = SyncState(text) else {
            throw MethodError("cannotCalculateChanges", "That is no state of this server.")
        }
        var known = KnownState(state: state)
        if state.epoch != snapshot.epoch || state > self.state {
            let epochs = try snapshot.epochs()
            guard epochs.contain(state) else {
                let why = "The server's data has gone back since that state."
                guard knowsEpochs else { throw MethodError("cannotCalculateChanges", why) }
                throw MethodError("forked", why, ["epochs": epochs.json(from: state.epoch)])
            }
            known.epochs = epochs.json(from: state.epoch)
        }
        // The client starts from nothing, or has not finished since: it cannot have rows that the server forgot before
        // it began.
        known.begun = state.isInitial ? opening.seq : state.begun.map { min($0, opening.seq) }
        if max(state.seq, known.begun ?? 0) < snapshot.floor {
            throw MethodError(
                "cannotCalculateChanges", "What was deleted since that state has been forgotten.",
                known.epochs.map { ["epochs": $0] } ?? [:])
        }
        return known
    }

    /// The state that the server gives a client for a position.
    func state(at place: LogPosition, begun: Int64? = nil) -> SyncState {
        var state = place.state(epoch: snapshot.epoch)
        state.begun = begun
        // After this answer the client no longer starts from nothing, even if the account is empty.
        if state.isInitial { state.begun = 0 }
        return state
    }
}

/// A state at which a client can have been.
struct KnownState {
    var state: SyncState
    /// The account's seq when the client began, if it began with nothing and has not finished yet.
    var begun: Int64?
    /// The epochs of the database from the state's epoch on, if the state is of a former epoch.
    var epochs: JSON?

    var start: LogPosition { LogPosition(after: state) }
}

extension SyncState {
    fileprivate var isInitial: Bool { seq == 0 && offset == 0 && begun == nil }

    /// Whether this state lies beyond a state between two transactions. Epochs do not count.
    fileprivate static func > (a: Self, b: Self) -> Bool { a.seq > b.seq || a.seq == b.seq && a.offset > 0 }
}
