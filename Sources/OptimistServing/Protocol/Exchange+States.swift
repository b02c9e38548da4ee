// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Judging the states that clients name.
extension Exchange {
    /// Reads a state from which a client wants to go on.
    ///
    /// - Parameter knowsEpochs: Whether the client understands `forked`. A client that knows only the RFC gets an error
    ///   that it understands: fetch everything again.
    /// - Throws: ``MethodError`` `cannotCalculateChanges` or `forked`.
    func place(_ text: String, knowsEpochs: Bool) throws -> KnownState {
        guard let state = SyncState(text) else {
            throw MethodError("cannotCalculateChanges", "That is no state of this server.")
        }
        var known = KnownState(state: state)
        if state.epoch != settings.epoch || state > self.state {
            let epochs = try snapshot.epochs()
            guard epochs.contain(state) else {
                let why = "The server's data has gone back since that state."
                guard knowsEpochs else { throw MethodError("cannotCalculateChanges", why) }
                throw MethodError("forked", why, ["epochs": epochs.json(from: state.epoch)])
            }
            known.epochs = epochs.json(from: state.epoch)
        }
        // From nothing, or not yet through with it: the client cannot have rows that were forgotten before it began.
        known.begun = state.isInitial ? opening.seq : state.begun.map { min($0, opening.seq) }
        if max(state.seq, known.begun ?? 0) < snapshot.floor {
            throw MethodError(
                "cannotCalculateChanges", "What was deleted since that state has been forgotten.",
                known.epochs.map { ["epochs": $0] } ?? [:])
        }
        return known
    }

    /// The state that a client is given for a place.
    func state(at place: LogPosition, begun: Int64? = nil) -> SyncState {
        var state = place.state(epoch: settings.epoch)
        state.begun = begun
        // A client that has been told that there is nothing does not begin with nothing from now on.
        if state.isInitial { state.begun = 0 }
        return state
    }
}

/// A state at which a client can have stood.
struct KnownState {
    var state: SyncState
    /// If the client began with nothing and is not through yet: the account's seq when it began.
    var begun: Int64?
    /// If it is of a former epoch: the lives of the database since.
    var epochs: JSON?

    var start: LogPosition { LogPosition(after: state) }
}

extension SyncState {
    fileprivate var isInitial: Bool { seq == 0 && offset == 0 && begun == nil }

    /// Whether this is beyond a state between two transactions, whatever the epochs.
    fileprivate static func > (a: Self, b: Self) -> Bool { a.seq > b.seq || a.seq == b.seq && a.offset > 0 }
}
