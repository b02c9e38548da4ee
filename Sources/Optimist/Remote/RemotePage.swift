// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// A page of the server's transactions, complete and in order.
public struct RemotePage: Sendable {
    /// The cursor of the request.
    public var from: String
    /// The cursor after this page.
    public var cursor: String
    /// Whether there were more changes when the remote made the page.
    public var hasMore: Bool
    /// The cursor of the remote's last transaction when it made the page: rows are as they were then. If `hasMore` is
    /// true, later pages contain rows that had changed again by that time. Nil if unknown.
    public var head: String?
    /// The changed rows. For each table, the live rows are in the order of their last transactions, and so are the
    /// deleted rows.
    public var rows: [Row]
    /// Requested tables that the remote withholds, and why. The page does not cover them. If all are withheld, the
    /// remote throws ``RemoteFailure/withheld(_:)`` instead. Default: none.
    public var withheld: [String: WithheldReason] = [:]
    /// The epochs of the remote's database, oldest first, if the cursor is from an earlier epoch. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time when it answered. Nil if unknown.
    public var serverTime: Date?
    /// In a space: the id of the person's own row in `optimist_member`. Nil if unknown.
    public var member: String?

    /// Creates a page with only rows and cursors.
    public init(from: String, cursor: String, hasMore: Bool, rows: [Row]) {
        self.from = from
        self.cursor = cursor
        self.hasMore = hasMore
        self.rows = rows
    }
}

extension RemotePage {
    /// A request for a page.
    public struct Request: Sendable, Hashable {
        /// The requested tables, all from ``RemoteAccount/tables``.
        public var tables: [String]
        /// The cursor to start after: ``RemoteAccount/initialCursor``, or a cursor from the remote.
        public var cursor: String
        /// The maximum number of rows, at least 1. The remote may send fewer, or more to keep a transaction complete.
        public var limit: Int
        /// The ids under which the device counts or has counted. In the page, `RowPatch.mine` contains each id's share
        /// of the sums. Default: none, if no table has counters.
        public var origins: [String]
        /// The lower-case UUID of the space whose rows are requested. Default: nil, the person's own account.
        public var space: String?

        /// Creates a request.
        public init(tables: [String], cursor: String, limit: Int, origins: [String] = [], space: String? = nil) {
            self.tables = tables
            self.cursor = cursor
            self.limit = limit
            self.origins = origins
            self.space = space
        }
    }

    /// The server's state of a row.
    public struct Row: Sendable, Hashable {
        /// The table of the row.
        public var table: String
        /// The row's lower-case UUID.
        public var id: String
        /// The row's columns, or its deletion.
        public var content: Content

        /// The row's columns, or its deletion.
        public enum Content: Sendable, Hashable {
            /// The row exists. The patch has every column that was ever written.
            case row(RowPatch)
            /// The row was deleted.
            case deleted(Tombstone)
        }

        /// Creates a row.
        public init(table: String, id: String, content: Content) {
            self.table = table
            self.id = id
            self.content = content
        }
    }
}
