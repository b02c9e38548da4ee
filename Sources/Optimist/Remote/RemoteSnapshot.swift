// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// A part of a snapshot: live rows of one table in the order of their ids, as they are when the remote makes the part.
///
/// A deleted row in it makes sync fail with a ``RemoteFailure/protocolError(_:)``.
public struct RemoteSnapshot: Sendable {
    /// The remote's cursor before it made the first part. After the complete snapshot, the device pulls all changes
    /// after this cursor.
    public var at: String
    /// The rows, in the order of their ids.
    public var rows: [RemotePage.Row]
    /// The last id of this part, after which the next part begins. Nil for the last part.
    public var next: String?
    /// The cursor of the remote's last transaction when it made the part: rows are as they were then. Nil if unknown.
    public var head: String?
    /// The approximate number of rows in the table, to show progress. Nil if unknown.
    public var total: Int?
    /// The epochs of the remote's database, oldest first, if `at` is from an earlier epoch. Default: none.
    public var epochs: [RemoteEpoch] = []
    /// The remote's time when it answered. Nil if unknown.
    public var serverTime: Date?

    /// Creates a part with only rows and cursors.
    public init(at: String, rows: [RemotePage.Row], next: String?) {
        self.at = at
        self.rows = rows
        self.next = next
    }
}

extension RemoteSnapshot {
    /// A request for a part of a snapshot.
    public struct Request: Sendable, Hashable {
        /// The requested table.
        public var table: String
        /// The cursor from the first answer, sent with every later part and with the tables that follow. Nil to make
        /// the remote record a new cursor.
        public var at: String?
        /// The id after which this part begins. Nil for the first part.
        public var after: String?
        /// The maximum number of rows, at least 1.
        public var limit: Int
        /// As in ``RemotePage/Request/origins``. Default: none.
        public var origins: [String]
        /// As in ``RemotePage/Request/space``. Default: nil.
        public var space: String?

        /// Creates a request, by default for the first part of a snapshot.
        public init(
            table: String, at: String? = nil, after: String? = nil, limit: Int, origins: [String] = [],
            space: String? = nil
        ) {
            self.origins = origins
            self.space = space
            self.table = table
            self.at = at
            self.after = after
            self.limit = limit
        }
    }
}
