// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// Promises of a remote beyond the requirements of ``Remote``. Default: none, which is always safe.
///
/// The engine draws conclusions from a cursor, or from a row missing from a page, only if these guarantees allow it.
public struct RemoteGuarantees: Sendable, Hashable {
    /// Whether the remote's cursors are ordered like its transactions. Each cursor is an `OptimistWire.SyncState`,
    /// `epoch.seq`, with the same `seq` as verdicts and rows.
    ///
    /// If true, the engine first receives the table that is furthest behind, recognises rows that were deleted before a
    /// snapshot, forgets deleted rows eventually, and resends rows that a restored remote lost (``RemoteEpoch``).
    /// Default: false. Cursors are then opaque: the engine only returns them, first receives the table that has waited
    /// longest, and receives everything again from a remote that reports that it was restored.
    public var hasOrderedCursors: Bool
    /// Whether pages include this device's own changes.
    ///
    /// If true and the device receives a table from the beginning, rows missing from all pages and snapshots were
    /// deleted on the server. If false, only a snapshot shows that a row was deleted. Default: false.
    public var pagesHaveOwnChanges: Bool

    /// Creates guarantees, by default none.
    public init(hasOrderedCursors: Bool = false, pagesHaveOwnChanges: Bool = false) {
        self.hasOrderedCursors = hasOrderedCursors
        self.pagesHaveOwnChanges = pagesHaveOwnChanges
    }
}

extension RemoteGuarantees {
    /// A cursor's position. Nil if there is no cursor, or if cursors are opaque.
    func state(of cursor: String?) -> SyncState? { hasOrderedCursors ? cursor.flatMap { SyncState($0) } : nil }

    /// Whether a row that a snapshot lacks counts as deleted if the server had it before the snapshot, even if the
    /// device learns only later that the server had it.
    var tellMissedRows: Bool { hasOrderedCursors && pagesHaveOwnChanges }
}

extension Meta {
    /// The remote's promises at the last connection. Before the first connection both are assumed, which is safe
    /// because no page has been received.
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
    /// Stores the remote's promises. The engine calls this before it sends or receives.
    func note(_ guarantees: RemoteGuarantees) async throws {
        if try await read({ try Meta.guarantees(in: $0) }) == guarantees { return }
        try await apply { db in try Meta.set(guarantees, in: db) }
    }

    /// Stores the id of the person's own account.
    func note(ownAccount account: String) async throws {
        if try await read({ try Meta.string(.ownAccount, in: $0) }) == account { return }
        try await apply { db in try Meta.set(.ownAccount, to: account, in: db) }
    }
}
