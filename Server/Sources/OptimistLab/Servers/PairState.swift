// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// What may be done to a pair of databases now: one order at a time, and none that would remove the newest copy.
struct PairState: Equatable, Sendable {
    /// What the second node is.
    enum Standby: Equatable, Sendable {
        case following(DatabasePair.Following)
        /// It has the newest copy: the primary is dead, and this one has not become the primary.
        case unpromoted
        /// The primary that was killed. Its data is old.
        case dead
    }

    enum Order: Equatable, Sendable { case follow, failOver, replace }

    private(set) var standby: Standby
    private(set) var order: Order?

    init(standby: Standby) { self.standby = standby }

    /// Nil: there is no standby that follows.
    var following: DatabasePair.Following? { if case .following(let mode) = standby { mode } else { nil } }

    /// Begins an order.
    ///
    /// - Throws: `OptimistError` with code `badLabRequest`. Nothing has changed then.
    mutating func begin(_ order: Order) throws {
        guard self.order == nil else {
            throw OptimistError(.badLabRequest, "The database is busy with another order. Wait until that is done.")
        }
        switch (order, standby) {
        case (.follow, .following), (.failOver, .following), (.failOver, .unpromoted), (.replace, .dead): break
        case (.follow, _), (.failOver, .dead):
            throw OptimistError(.badLabRequest, "There is no standby. Make another one first.")
        case (.replace, .unpromoted):
            throw OptimistError(
                .badLabRequest, "The standby has the newest copy and was not promoted. Fail over once more first.")
        case (.replace, .following): throw OptimistError(.badLabRequest, "There is a standby already.")
        }
        self.order = order
    }

    /// The standby follows as it was told.
    mutating func follows(_ mode: DatabasePair.Following) { standby = .following(mode) }

    /// The primary is dead.
    mutating func killed() { standby = .unpromoted }

    /// The standby is the primary, and the dead one takes its place.
    mutating func promoted() { standby = .dead }

    /// The order has ended, with success or without.
    mutating func end() { order = nil }
}
