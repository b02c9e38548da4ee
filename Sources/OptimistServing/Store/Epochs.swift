// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The epochs of the database, with one account's position in each.
///
/// A new epoch begins whenever the database may have been restored to an earlier state. States of earlier epochs stay
/// valid up to the account's seq at the start of the next epoch.
@_spi(Internals) public struct Epochs: Hashable, Sendable {
    struct Epoch: Hashable, Sendable {
        var name: String
        var firstSeq: Int64
    }

    /// The epochs, oldest first. The last one is the current epoch.
    private(set) var all: [Epoch]
    private(set) var seq: Int64

    /// Makes the epochs for an account.
    ///
    /// - Parameters:
    ///   - names: Every epoch of the database, oldest first.
    ///   - firstSeqs: The account's seq at the start of each epoch that changed the account.
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

    /// The epoch of a transaction of the account.
    public func name(ofSeq seq: Int64) -> String? { (all.last { $0.firstSeq < seq } ?? all.first)?.name }

    /// Whether a device can have reached this state, and can continue from it.
    func contain(_ state: SyncState) -> Bool {
        guard let index = all.firstIndex(where: { $0.name == state.epoch }) else { return false }
        let end = index + 1 < all.count ? all[index + 1].firstSeq : seq
        // A state with an offset lies inside transaction `seq + 1`.
        return state.offset == 0 ? state.seq <= end : state.seq < end
    }

    /// The JSON that a device uses to find the last point it shares with the server.
    ///
    /// - Parameter name: The epoch of the device's state. If the database knows this epoch, earlier epochs are left
    ///   out.
    func json(from name: String) -> JSON {
        let first = all.firstIndex { $0.name == name } ?? 0
        return .array(all[first...].map { ["epoch": .string($0.name), "firstSeq": .int($0.firstSeq)] })
    }
}
