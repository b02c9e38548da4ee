// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// What a remote promises beyond the requirements of ``Remote``. Default: nothing, which is always safe.
///
/// The engine draws conclusions from a cursor, or from a row that is missing in a page, only if these guarantees allow it.
public struct RemoteGuarantees: Sendable, Hashable {
    /// Whether the remote's cursors are positions in the order of its transactions. Each cursor is an
    /// `OptimistWire.SyncState`, `epoch.seq`, whose number is the `seq` of verdicts and rows.
    ///
    /// If true, the engine receives the table that is furthest behind first, recognises a row that was deleted before a
    /// snapshot, forgets deleted rows in time, and sends a remote that went back what it lost (``RemoteEpoch``).
    /// Default: false. Cursors are then opaque: the engine returns them unchanged, receives the table that has waited
    /// longest first, and receives everything again from a remote that says that it went back.
    public var hasOrderedCursors: Bool
    /// Whether pages also bring what this device has pushed.
    ///
    /// If true, and the device receives a table from the beginning, the server has deleted each row that it had and
    /// that neither pages nor a snapshot bring. Default: false. Then only a snapshot shows that a row was deleted.
    public var pagesHaveOwnChanges: Bool

    /// Makes guarantees, by default none, which is always safe.
    public init(hasOrderedCursors: Bool = false, pagesHaveOwnChanges: Bool = false) {
        self.hasOrderedCursors = hasOrderedCursors
        self.pagesHaveOwnChanges = pagesHaveOwnChanges
    }
}

extension RemoteGuarantees {
    /// The position that a cursor names. Nil: there is no cursor, or cursors are opaque.
    func state(of cursor: String?) -> SyncState? { hasOrderedCursors ? cursor.flatMap { SyncState($0) } : nil }

    /// Whether a row counts as deleted if the server had it before a snapshot and the snapshot does not contain it,
    /// even if the device learns late that the server had it.
    var tellMissedRows: Bool { hasOrderedCursors && pagesHaveOwnChanges }
}

extension Meta {
    /// The remote's promises at the last connection. Before the first connection both are assumed, because nothing has
    /// been received yet.
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
    /// Stores what the remote promises. The engine calls it before it sends or receives anything.
    func note(_ guarantees: RemoteGuarantees) async throws {
        if try await read({ try Meta.guarantees(in: $0) }) == guarantees { return }
        try await apply { db in try Meta.set(guarantees, in: db) }
    }
}
