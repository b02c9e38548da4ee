// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What a remote promises beyond what every ``Remote`` does. Default: nothing, which is always safe.
///
/// The engine draws conclusions from a cursor, or from a row that a page does not have, only where these say that it may.
public struct RemoteGuarantees: Sendable, Hashable {
    /// Whether the remote's cursors are places in the order of its transactions: each is an `OptimistWire.SyncState`,
    /// `epoch.seq`, whose number is the `seq` of verdicts and rows.
    ///
    /// If so, the table that is furthest behind is received first, a row that was deleted before a snapshot is
    /// recognised, deleted rows are forgotten in time, and a remote that went back is healed (``RemoteEpoch``).
    /// Default: false. Cursors are then opaque: the engine gives them back as they came, the table that has waited
    /// longest is received first, and a remote that says that it went back is received again from the beginning.
    public var hasOrderedCursors: Bool
    /// Whether pages also bring what this device has pushed.
    ///
    /// If so, a row that the server had, and that neither pages nor a snapshot bring when a table is received from the
    /// beginning, was deleted there. Default: false. Then only a snapshot says so.
    public var pagesHaveOwnChanges: Bool

    /// Makes guarantees, by default none, which is always safe.
    public init(hasOrderedCursors: Bool = false, pagesHaveOwnChanges: Bool = false) {
        self.hasOrderedCursors = hasOrderedCursors
        self.pagesHaveOwnChanges = pagesHaveOwnChanges
    }
}

extension RemoteGuarantees {
    /// The place that a cursor names. Nil: there is no cursor, or cursors are opaque.
    func state(of cursor: String?) -> SyncState? { hasOrderedCursors ? cursor.flatMap { SyncState($0) } : nil }

    /// Whether a row was deleted which the server had before a snapshot that does not have it, though it says so late.
    var tellMissedRows: Bool { hasOrderedCursors && pagesHaveOwnChanges }
}

extension Meta {
    /// What the remote promises, as it said when the engine last connected. Before the first time nothing was received.
    static func guarantees(in db: Database) throws -> RemoteGuarantees {
        let known = try int(.guarantees, in: db) ?? 3
        return RemoteGuarantees(hasOrderedCursors: known & 1 != 0, pagesHaveOwnChanges: known & 2 != 0)
    }

    fileprivate static func set(_ guarantees: RemoteGuarantees, in db: Database) throws {
        let bits: Int64 = (guarantees.hasOrderedCursors ? 1 : 0) | (guarantees.pagesHaveOwnChanges ? 2 : 0)
        try set(.guarantees, to: bits, in: db)
    }
}

extension Store {
    /// Takes note of what the remote promises. Called before anything is sent or received.
    func note(_ guarantees: RemoteGuarantees) async throws {
        if try await read({ try Meta.guarantees(in: $0) }) == guarantees { return }
        try await apply { db in try Meta.set(guarantees, in: db) }
    }
}
