// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A set of rows to send to the server.
public struct RemotePush: Sendable, Hashable {
    /// The number of the push. It increases by one with each new push that has rows.
    public var number: Int64
    /// The device's id: 1 to 64 ASCII letters and digits.
    public var device: String
    /// The rows to send, each at most once.
    public var rows: [Row]
    /// Ranges of ``rows`` that the server applies atomically. Default: none, each row is applied individually.
    public var groups: [Range<Int>]
    /// The ids under which the device counts or has counted. The answer contains each id's share of the sums. Default:
    /// none, if no table has counters.
    public var origins: [String]
    /// The lower-case UUIDs of spaces where the number counts, for a push without rows. The number then also counts in
    /// the person's own account. Default: none.
    public var spaces: [String] = []
    /// The age of the oldest pending row in whole seconds, for the server's operator. Default: nil, not reported.
    public var oldestPendingSeconds: Int64?

    /// Creates a push, by default without groups and counters.
    public init(
        number: Int64, device: String, rows: [Row], groups: [Range<Int>] = [], origins: [String] = [],
        oldestPendingSeconds: Int64? = nil
    ) {
        self.number = number
        self.device = device
        self.rows = rows
        self.groups = groups
        self.origins = origins
        self.oldestPendingSeconds = oldestPendingSeconds
    }
}

extension RemotePush {
    /// The unsent state of one row.
    public struct Row: Sendable, Hashable {
        /// The table of the row.
        public var table: String
        /// The row's lower-case UUID.
        public var id: String
        /// The change to make to the row.
        public var change: Change
        /// The lower-case UUID of the row's space. Default: nil, the person's own account.
        public var space: String?

        /// A change to a row. Patches carry a generation and the clocks of their columns.
        public enum Change: Sendable, Hashable {
            /// Create the row. If it exists, merge the columns.
            case create(RowPatch)
            /// Merge these columns into the row.
            case update(RowPatch)
            /// Delete the row.
            case delete(Tombstone)
            /// Merge these columns into the row, and move it from this space to the row's space. Nil: from the person's
            /// own account. If the patch is the full row, the source may lack the row.
            case move(from: String?, RowPatch, isWhole: Bool)
        }

        /// Creates a row.
        public init(table: String, id: String, change: Change, space: String? = nil) {
            self.table = table
            self.id = id
            self.change = change
            self.space = space
        }

        /// The row as `Type:id`.
        var name: String { "\(table):\(id)" }
    }
}
