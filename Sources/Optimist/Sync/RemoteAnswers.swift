// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// What a remote says to a push.
public struct PushAnswer: Sendable, Hashable {
    /// A verdict for each row of the push, in its order.
    public var verdicts: [Verdict]
    /// Tables that the remote takes from a newer version of the app only. Their rows' verdicts are
    /// ``Verdict/retry(after:)``.
    public var upgradeRequired: Set<String> = []
    /// The life of the remote's database that answered: see ``RemoteEpoch``. Nil: it has but one.
    public var epoch: String?
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    public init(_ verdicts: [Verdict]) { self.verdicts = verdicts }
}

/// A life of the remote's database. Another one begins whenever the database may have gone back. Only for remotes whose
/// cursors are ordered (``RemoteGuarantees``): what others tell of it is not looked at.
public struct RemoteEpoch: Sendable, Hashable {
    /// The part of a cursor before its first point.
    public var name: String
    /// The account's last transaction before this life began.
    public var firstSeq: Int64

    public init(name: String, firstSeq: Int64) {
        self.name = name
        self.firstSeq = firstSeq
    }
}

/// What a device asks for.
public struct PullRequest: Sendable, Hashable {
    public var tables: [String]
    public var cursor: String
    /// The most rows wanted. The remote may send fewer or, to keep a transaction whole, more.
    public var limit: Int
    /// Every id that the device counts or has counted under, if it does: the page says under them what sums contain of it, in
    /// `RowPatch.mine`. Default: none.
    public var origins: [String]

    public init(tables: [String], cursor: String, limit: Int, origins: [String] = []) {
        self.tables = tables
        self.cursor = cursor
        self.limit = limit
        self.origins = origins
    }
}

/// Whole transactions of the server, in their order.
public struct Page: Sendable {
    /// The cursor that was asked from.
    public var from: String
    /// The cursor after this page.
    public var cursor: String
    /// Whether there was more when the page was made.
    public var hasMore: Bool
    /// The cursor of the remote's last transaction when the page was made: each of its rows is as it was then. If there is more,
    /// rows that had changed again by then come later. Nil: it does not say.
    public var head: String?
    public var rows: [PageRow]
    /// Tables that were asked for and are served to a newer version of the app only. The page says nothing about them.
    public var upgradeRequired: Set<String> = []
    /// If the cursor is of a former life of the remote's database: its lives, oldest first (L3).
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    public init(from: String, cursor: String, hasMore: Bool, rows: [PageRow]) {
        self.from = from
        self.cursor = cursor
        self.hasMore = hasMore
        self.rows = rows
    }
}

/// What a device asks for of a snapshot.
public struct SnapshotRequest: Sendable, Hashable {
    public var table: String
    /// The cursor that the first answer noted, for every later part and for the tables that follow. Nil: note one.
    public var at: String?
    /// The id after which this part begins. Nil: at the first row.
    public var after: String?
    /// The most rows wanted.
    public var limit: Int
    /// As in ``PullRequest/origins``. Default: none.
    public var origins: [String]

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

/// A part of a snapshot: living rows of one table in the order of their ids, each as it is when the part is made. One with
/// a deleted row is not taken, and sync fails with a ``RemoteFailure/protocolError(_:)``.
public struct SnapshotPage: Sendable {
    /// The cursor that was noted before the first part was made. Everything after it is pulled once the snapshot is
    /// here.
    public var at: String
    public var rows: [PageRow]
    /// The last id of this part, after which the next one begins. Nil: this is the last one.
    public var next: String?
    /// The cursor of the remote's last transaction when the part was made: each row is as it was then. Nil: it does not say.
    public var head: String?
    /// How many rows the table has, roughly, for showing progress. Nil: unknown.
    public var total: Int?
    /// If `at` is of a former life of the remote's database: its lives, oldest first (L3).
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    public init(at: String, rows: [PageRow], next: String?) {
        self.at = at
        self.rows = rows
        self.next = next
    }
}

/// A row as the server has it.
public struct PageRow: Sendable, Hashable {
    public var table: String
    public var id: String
    public var content: Content

    public enum Content: Sendable, Hashable {
        case row(RowPatch)
        case deleted(Tombstone)
    }

    public init(table: String, id: String, content: Content) {
        self.table = table
        self.id = id
        self.content = content
    }
}
