// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// Whole transactions of the server, in their order.
public struct RemotePage: Sendable {
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
    public var rows: [Row]
    /// Tables of the request that the remote keeps from this device, and why. The page says nothing about them. A remote
    /// that withholds all of them throws ``RemoteFailure/withheld(_:)`` instead. Default: none.
    public var withheld: [String: WithheldReason] = [:]
    /// The epochs of the remote's database, oldest first, if the cursor belongs to an earlier epoch. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time of day when it answered. Nil: it does not say.
    public var serverTime: Date?

    /// Makes a page with rows and cursors only.
    public init(from: String, cursor: String, hasMore: Bool, rows: [Row]) {
        self.from = from
        self.cursor = cursor
        self.hasMore = hasMore
        self.rows = rows
    }
}

extension RemotePage {
    /// What a device asks for in a pull.
    public struct Request: Sendable, Hashable {
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

    /// A row as the server has it.
    public struct Row: Sendable, Hashable {
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
}
