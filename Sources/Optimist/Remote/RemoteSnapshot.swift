// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// A part of a snapshot: living rows of one table in the order of their ids. Each row is as it is when the remote makes
/// the part.
///
/// If a row of the part is a deleted one, sync fails with a ``RemoteFailure/protocolError(_:)``.
public struct RemoteSnapshot: Sendable {
    /// The cursor that the remote noted before it made the first part. The device pulls everything after this cursor
    /// once it has the whole snapshot.
    public var at: String
    /// The rows, in the order of their ids.
    public var rows: [RemotePage.Row]
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
    public init(at: String, rows: [RemotePage.Row], next: String?) {
        self.at = at
        self.rows = rows
        self.next = next
    }
}

extension RemoteSnapshot {
    /// A device's request for a part of a snapshot.
    public struct Request: Sendable, Hashable {
        /// The table.
        public var table: String
        /// The cursor that the first answer noted. The device gives it for every later part and for the tables that follow.
        /// Nil: the remote notes a new cursor.
        public var at: String?
        /// The id after which this part begins. Nil: the part begins at the first row.
        public var after: String?
        /// The highest number of rows wanted, at least 1.
        public var limit: Int
        /// As in ``RemotePage/Request/origins``. Default: none.
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
}
