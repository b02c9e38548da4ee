// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The allowed operations on a pair: one at a time, and none that removes the newest copy.
struct PairState: Equatable, Sendable {
    enum Standby: Equatable, Sendable {
        case following(DatabasePair.Following)
        /// It has the newest copy: the primary is dead, but this node was not promoted.
        case unpromoted
        /// The killed primary, whose data is outdated.
        case dead
    }

    enum Order: Equatable, Sendable { case follow, failOver, replace }

    private(set) var standby: Standby
    private(set) var order: Order?

    init(standby: Standby) { self.standby = standby }

    var following: DatabasePair.Following? { if case .following(let mode) = standby { mode } else { nil } }

    /// - Throws: `OptimistError` with code `badLabRequest` if the operation is not allowed. The state then does not
    ///   change.
    mutating func begin(_ order: Order) throws {
        guard self.order == nil else {
            throw OptimistError(.badLabRequest, "Another operation on the database is running. Wait until it is done.")
        }
        switch (order, standby) {
        case (.follow, .following), (.failOver, .following), (.failOver, .unpromoted), (.replace, .dead): break
        case (.follow, _), (.failOver, .dead):
            throw OptimistError(.badLabRequest, "The database does not have a standby. Create one first.")
        case (.replace, .unpromoted):
            throw OptimistError(
                .badLabRequest, "The standby has the newest copy and was not promoted. Fail over again first.")
        case (.replace, .following): throw OptimistError(.badLabRequest, "The database already has a standby.")
        }
        self.order = order
    }

    mutating func follows(_ mode: DatabasePair.Following) { standby = .following(mode) }

    mutating func killed() { standby = .unpromoted }

    /// The standby is now the primary, and the dead node takes its place.
    mutating func promoted() { standby = .dead }

    mutating func end() { order = nil }
}
