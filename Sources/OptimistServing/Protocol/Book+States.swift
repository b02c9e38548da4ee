// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension Book {
    /// Reads the state that a client wants to continue from.
    ///
    /// - Parameter knowsEpochs: Whether the client understands `forked`. A client that knows only the RFC gets
    ///   `cannotCalculateChanges` instead, and fetches everything again.
    /// - Throws: ``MethodError`` `cannotCalculateChanges` or `forked`.
    func place(_ text: String, knowsEpochs: Bool) throws -> KnownState {
        guard let state = SyncState(text) else {
            throw MethodError("cannotCalculateChanges", "This is not a state of this server.")
        }
        var known = KnownState(state: state)
        if state.epoch != snapshot.epoch || state > self.state {
            let epochs = try snapshot.epochs()
            guard epochs.contain(state) else {
                let why = "The server has since been restored to an earlier state."
                guard knowsEpochs else { throw MethodError("cannotCalculateChanges", why) }
                throw MethodError("forked", why, ["epochs": epochs.json(from: state.epoch)])
            }
            known.epochs = epochs.json(from: state.epoch)
        }
        // A client that has not finished its start began without rows. Such a client cannot have rows that the server
        // purged before the start.
        known.begun = state.isInitial ? opening.seq : state.begun.map { min($0, opening.seq) }
        if max(state.seq, known.begun ?? 0) < snapshot.floor {
            throw MethodError(
                "cannotCalculateChanges", "The server no longer knows which rows were deleted since that state.",
                known.epochs.map { ["epochs": $0] } ?? [:])
        }
        return known
    }

    func state(at place: LogPosition, begun: Int64? = nil) -> SyncState {
        var state = place.state(epoch: snapshot.epoch)
        state.begun = begun
        // After this answer the client is no longer starting, even if the account is empty.
        if state.isInitial { state.begun = 0 }
        return state
    }
}

struct KnownState {
    var state: SyncState
    /// The account's seq when the client began without rows. Nil: the client has finished its start.
    var begun: Int64?
    /// If the state belongs to an earlier epoch: that epoch and all later epochs of the database.
    var epochs: JSON?

    var start: LogPosition { LogPosition(after: state) }
}

extension SyncState {
    fileprivate var isInitial: Bool { seq == 0 && offset == 0 && begun == nil }

    /// Whether `a` is later than `b`. The state `b` must lie between two transactions. Ignores epochs.
    fileprivate static func > (a: Self, b: Self) -> Bool { a.seq > b.seq || a.seq == b.seq && a.offset > 0 }
}
