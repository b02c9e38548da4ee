// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The lives of the database as one account knows them.
///
/// A new epoch begins whenever the database may have gone back. States of earlier epochs stay valid up to where the
/// account stood when the next one began: what a device received before is still true.
public struct Epochs: Hashable, Sendable {
    /// An epoch and the account's seq when it began.
    struct Epoch: Hashable, Sendable {
        var name: String
        var firstSeq: Int64
    }

    /// Oldest first. The last one is the present one.
    private(set) var all: [Epoch]
    /// The account's last transaction.
    private(set) var seq: Int64

    /// Makes the epochs that an account knows.
    ///
    /// - Parameters:
    ///   - names: Every epoch of the database, oldest first.
    ///   - firstSeqs: The account's seq when an epoch began, for the epochs in which it changed.
    ///   - seq: The account's last transaction.
    public init(names: [String], firstSeqs: [String: Int64], seq: Int64) {
        self.seq = seq
        var next = seq
        all = names.reversed().map { name in
            next = firstSeqs[name] ?? next
            return Epoch(name: name, firstSeq: next)
        }
        all.reverse()
    }

    /// Whether a device can have stood at this state, and can go on from it.
    func contain(_ state: SyncState) -> Bool {
        guard let index = all.firstIndex(where: { $0.name == state.epoch }) else { return false }
        let end = index + 1 < all.count ? all[index + 1].firstSeq : seq
        // A place inside a transaction is beyond its seq.
        return state.offset == 0 ? state.seq <= end : state.seq < end
    }

    /// What a device needs to find the last point that it has in common with the server.
    ///
    /// - Parameter name: The epoch of the device's state. If the database knows it, the ones before are left out.
    func json(from name: String) -> JSON {
        let first = all.firstIndex { $0.name == name } ?? 0
        return .array(all[first...].map { ["epoch": .string($0.name), "firstSeq": .int($0.firstSeq)] })
    }
}
