// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// A remote's answer to a push.
public struct PushAnswer: Sendable, Hashable {
    /// A verdict for each row of the push, in its order.
    public var verdicts: [Verdict]
    /// Tables that the remote takes from a newer version of the app only. The verdicts of their rows are
    /// ``Verdict/retry(after:_:)``. Default: none.
    public var upgradeRequired: Set<String> = []
    /// The life of the remote's database that answered: see ``RemoteEpoch``. Nil: it has only one.
    public var epoch: String?
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes an answer that says nothing but its verdicts.
    public init(_ verdicts: [Verdict]) { self.verdicts = verdicts }
}

/// A life of the remote's database. Another one begins whenever the database may have gone back.
///
/// Only for remotes whose cursors are ordered (``RemoteGuarantees``): the engine ignores the epochs of others.
public struct RemoteEpoch: Sendable, Hashable {
    /// The part of a cursor before its first point.
    public var name: String
    /// The account's last transaction before this life began.
    public var firstSeq: Int64

    /// Makes an epoch.
    public init(name: String, firstSeq: Int64) {
        self.name = name
        self.firstSeq = firstSeq
    }
}

/// What a device asks for in a pull.
public struct PullRequest: Sendable, Hashable {
    /// The tables, of those in ``RemoteAccount/tables``.
    public var tables: [String]
    /// The cursor after which changes are asked for: ``RemoteAccount/initialCursor``, or one that the remote gave.
    public var cursor: String
    /// The most rows wanted, from 1 on. The remote may send fewer or, to keep a transaction whole, more.
    public var limit: Int
    /// Every id under which the device counts or has counted, if it does. The page says under these ids what the sums
    /// contain of its own counting, in `RowPatch.mine`. Default: none.
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
    /// Whether there was more when the page was made.
    public var hasMore: Bool
    /// The cursor of the remote's last transaction when it made the page: each row is as it was then. If there is more,
    /// rows that had changed again by then come later. Nil: it does not say.
    public var head: String?
    /// The rows that changed, in the order of their last transactions.
    public var rows: [PageRow]
    /// Tables of the request that the remote serves to a newer version of the app only. The page says nothing about
    /// them. Default: none.
    public var upgradeRequired: Set<String> = []
    /// If the cursor is of a former life of the remote's database: its lives, oldest first. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes a page that says nothing but its rows.
    public init(from: String, cursor: String, hasMore: Bool, rows: [PageRow]) {
        self.from = from
        self.cursor = cursor
        self.hasMore = hasMore
        self.rows = rows
    }
}

/// What a device asks for of a snapshot.
public struct SnapshotRequest: Sendable, Hashable {
    /// The table.
    public var table: String
    /// The cursor that the first answer noted, for every later part and for the tables that follow. Nil: the remote
    /// notes one.
    public var at: String?
    /// The id after which this part begins. Nil: it begins at the first row.
    public var after: String?
    /// The most rows wanted, from 1 on.
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

/// A part of a snapshot: living rows of one table in the order of their ids, each as it is when the part is made.
///
/// If one of them is deleted, sync fails with a ``RemoteFailure/protocolError(_:)``.
public struct SnapshotPage: Sendable {
    /// The cursor that the remote noted before it made the first part. Everything after it is pulled once the snapshot
    /// is here.
    public var at: String
    /// The rows, in the order of their ids.
    public var rows: [PageRow]
    /// The last id of this part, after which the next one begins. Nil: this is the last part.
    public var next: String?
    /// The cursor of the remote's last transaction when it made the part: each row is as it was then. Nil: it does not
    /// say.
    public var head: String?
    /// How many rows the table has, roughly, for showing progress. Nil: unknown.
    public var total: Int?
    /// If `at` is of a former life of the remote's database: its lives, oldest first. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes a part that says nothing but its rows.
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
        /// The row lives, with all columns that were ever written.
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
