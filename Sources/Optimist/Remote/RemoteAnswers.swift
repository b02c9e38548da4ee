// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// A remote's answer to a push.
public struct PushAnswer: Sendable, Hashable {
    /// A verdict for each row of the push, in its order. With ``init(_:of:)`` a remote answers only some of them.
    public var verdicts: [Verdict]
    /// Tables whose rows the remote accepts only from a newer version of the app. The verdicts of these rows are
    /// ``Verdict/retry(after:_:)``. Default: none.
    public var upgradeRequired: Set<String> = []
    /// The epoch of the remote's database that answered: see ``RemoteEpoch``. Nil: the database has only one.
    public var epoch: String?
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes an answer with verdicts only.
    public init(_ verdicts: [Verdict]) { self.verdicts = verdicts }

    /// Makes an answer of a remote that judged only the first rows of a push, for example because it sends them to its
    /// backend one by one and lost the connection halfway.
    ///
    /// The rows without a verdict stay pending, and the engine sends them again at once. A remote that judged no row
    /// throws ``RemoteFailure/unreachable(_:)`` instead, so that the engine waits before it tries again.
    ///
    /// - Parameters:
    ///   - first: The verdicts of the first rows, in the order of the push, at most one for each row. They end between
    ///     two groups.
    ///   - push: The push.
    public init(_ first: [Verdict], of push: Push) {
        let missing = max(push.rows.count - first.count, 0)
        self.init(first + Array(repeating: Verdict.retry(after: .zero), count: missing))
    }
}

/// An epoch of the remote's database: one life of it. A new epoch begins whenever the database may have gone back.
///
/// Epochs are only for remotes whose cursors are ordered (``RemoteGuarantees``). The engine ignores the epochs of other
/// remotes.
public struct RemoteEpoch: Sendable, Hashable {
    /// The epoch's name: the part of a cursor before its first point.
    public var name: String
    /// The account's last transaction before this epoch began.
    public var firstSeq: Int64

    /// Makes an epoch.
    public init(name: String, firstSeq: Int64) {
        self.name = name
        self.firstSeq = firstSeq
    }
}

/// What a device asks for in a pull.
public struct PullRequest: Sendable, Hashable {
    /// The tables to receive, all of them in ``RemoteAccount/tables``.
    public var tables: [String]
    /// The cursor after which the device asks for changes: ``RemoteAccount/initialCursor``, or one that the remote gave.
    public var cursor: String
    /// The highest number of rows wanted, at least 1. The remote may send fewer, or more if it must keep a transaction whole.
    public var limit: Int
    /// Every id under which the device counts or has counted, if its tables have counters. For these ids, the page
    /// tells in `RowPatch.mine` how much of each sum the device itself has counted. Default: none.
    public var origins: [String]

    /// Makes a request.
    public init(tables: [String], cursor: String, limit: Int, origins: [String] = []) {
        self.tables = tables
        self.cursor = cursor
        self.limit = limit
        self.origins = origins
    }
}

/// Whole transactions of the server, in their order.
public struct Page: Sendable {
    /// The cursor of the request.
    public var from: String
    /// The cursor after this page.
    public var cursor: String
    /// Whether the remote had more changes when it made the page.
    public var hasMore: Bool
    /// The cursor of the remote's last transaction when it made the page: each row is as it was then. If `hasMore` is
    /// true, rows that had changed again by then come in later pages. Nil: the remote does not say.
    public var head: String?
    /// The rows that changed. The living rows of a table come in the order of their last transactions, and so do its
    /// deleted ones.
    public var rows: [PageRow]
    /// Tables of the request that the remote serves only to a newer version of the app. The page says nothing about
    /// them. Default: none.
    public var upgradeRequired: Set<String> = []
    /// The epochs of the remote's database, oldest first, if the cursor belongs to an earlier epoch. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes a page with rows and cursors only.
    public init(from: String, cursor: String, hasMore: Bool, rows: [PageRow]) {
        self.from = from
        self.cursor = cursor
        self.hasMore = hasMore
        self.rows = rows
    }
}

/// A device's request for a part of a snapshot.
public struct SnapshotRequest: Sendable, Hashable {
    /// The table.
    public var table: String
    /// The cursor that the first answer noted. The device gives it for every later part and for the tables that follow.
    /// Nil: the remote notes a new cursor.
    public var at: String?
    /// The id after which this part begins. Nil: the part begins at the first row.
    public var after: String?
    /// The highest number of rows wanted, at least 1.
    public var limit: Int
    /// As in ``PullRequest/origins``. Default: none.
    public var origins: [String]

    /// Makes a request, by default for the first part of a snapshot.
    public init(
        table: String, at: String? = nil, after: String? = nil, limit: Int, origins: [String] = []
    ) {
        self.origins = origins
        self.table = table
        self.at = at
        self.after = after
        self.limit = limit
    }
}

/// A part of a snapshot: living rows of one table in the order of their ids. Each row is as it is when the remote makes
/// the part.
///
/// If a row of the part is a deleted one, sync fails with a ``RemoteFailure/protocolError(_:)``.
public struct SnapshotPage: Sendable {
    /// The cursor that the remote noted before it made the first part. The device pulls everything after this cursor
    /// once it has the whole snapshot.
    public var at: String
    /// The rows, in the order of their ids.
    public var rows: [PageRow]
    /// The last id of this part. The next part begins after it. Nil: this is the last part.
    public var next: String?
    /// The cursor of the remote's last transaction when it made the part: each row is as it was then. Nil: the remote
    /// does not say.
    public var head: String?
    /// How many rows the table has, roughly, for showing progress. Nil: unknown.
    public var total: Int?
    /// The epochs of the remote's database, oldest first, if `at` belongs to an earlier epoch. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes a part with rows and cursors only.
    public init(at: String, rows: [PageRow], next: String?) {
        self.at = at
        self.rows = rows
        self.next = next
    }
}

/// A row as the server has it.
public struct PageRow: Sendable, Hashable {
    /// The table of the row.
    public var table: String
    /// The row's lower-case UUID.
    public var id: String
    /// The row's columns, or its deletion.
    public var content: Content

    /// The row's columns, or its deletion.
    public enum Content: Sendable, Hashable {
        /// The row is alive. The patch has every column that was ever written.
        case row(RowPatch)
        /// The row was deleted.
        case deleted(Tombstone)
    }

    /// Makes a row of a page.
    public init(table: String, id: String, content: Content) {
        self.table = table
        self.id = id
        self.content = content
    }
}
