// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Judging the states that clients name.
extension Exchange {
    /// Reads a state from which a client wants to go on.
    ///
    /// - Parameter knowsEpochs: Whether the client can make something of `forked`. One that knows only the RFC hears
    ///   what it understands: fetch everything anew.
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
        return known
    }
}

/// A state at which a client can have stood.
struct KnownState {
    var state: SyncState
    /// If it is of a former epoch: the lives of the database since.
    var epochs: JSON?

    var start: Place { Place(after: state) }
}

extension SyncState {
    /// Whether this is beyond a state between two transactions, whatever the epochs.
    fileprivate static func > (a: Self, b: Self) -> Bool { a.seq > b.seq || a.seq == b.seq && a.offset > 0 }
}
