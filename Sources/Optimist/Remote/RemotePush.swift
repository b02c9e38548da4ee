// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// Some rows on their way to the server.
public struct RemotePush: Sendable, Hashable {
    /// The number of the push. Each new push with rows increases the device's number by one.
    public var number: Int64
    /// The id of the device, 1 to 64 ASCII letters and digits.
    public var device: String
    /// The rows to send, each once.
    public var rows: [Row]
    /// Ranges of ``rows`` that the server applies together: either all rows of a range or none. Default: the server
    /// applies each row on its own.
    public var groups: [Range<Int>]
    /// Every id under which the device counts or has counted, if its tables have counters. For these ids, answers tell
    /// how much of each sum the device itself has counted. Default: none.
    public var origins: [String]
    /// How long the oldest pending row has waited, in whole seconds, for the server's operator. Default: nil, and the server is
    /// not told.
    public var oldestPendingSeconds: Int64?

    /// Makes a push, by default without groups and counters.
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
        /// What the device asks the server to do with the row.
        public var change: Change

        /// What the device asks the server to do with the row. Patches carry a generation and the clocks of their columns.
        public enum Change: Sendable, Hashable {
            /// Create the row. If the server already has it, the server merges the columns.
            case create(RowPatch)
            /// Merge these columns into the row.
            case update(RowPatch)
            /// Delete the row.
            case delete(Tombstone)
        }

        /// Makes a row of a push.
        public init(table: String, id: String, change: Change) {
            self.table = table
            self.id = id
            self.change = change
        }

        /// The row as `Type:id`.
        var name: String { "\(table):\(id)" }
    }
}
