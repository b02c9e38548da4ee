// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// Some rows on their way to the server.
public struct Push: Sendable, Hashable {
    /// The number of the push. Each new push with rows increases the device's number by one.
    public var number: Int64
    /// The id of the device, 1 to 64 ASCII letters and digits.
    public var device: String
    /// The rows to send, each once.
    public var rows: [PushRow]
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
        number: Int64, device: String, rows: [PushRow], groups: [Range<Int>] = [], origins: [String] = [],
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

/// The unsent state of one row.
public struct PushRow: Sendable, Hashable {
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

/// The server's decision on one pushed row.
public enum Verdict: Sendable, Hashable {
    /// The server applied the row as sent, in this transaction.
    case accepted(seq: Int64)
    /// The server applied the row, but its own values won in these columns.
    case merged(seq: Int64, RowPatch)
    /// The server applied the row to another row, which already has the values of a unique index that this row claims.
    /// From now on the two are one row, under the id of `winner` (M6).
    case mergedInto(seq: Int64, winner: String)
    /// The server has deleted the row, in a later life than the one that was sent. This was so after transaction `seq`.
    /// A server that can go back also tells how the row was deleted, so that the device can send the deletion again
    /// (L3). Nil: the server does not say.
    case gone(seq: Int64, Tombstone? = nil)
    /// The server will never apply the row.
    case rejected(Refusal)
    /// The server does not accept the row now. The row stays pending, and the engine sends it again after this time, at
    /// most a day. Nil: the engine chooses the time. The reason tells the app why the row waits. Nil, the default: the
    /// server does not say.
    case retry(after: Duration?, WaitReason? = nil)
    /// The server does not apply a part of the row, because it does not know the life of the row that the part belongs
    /// to, or knows only how that life ended.
    case lifeUnknown
    /// The server waits for another row, given as `Type:id`.
    case blocked(by: String)
    /// The server did not apply the row, because it did not apply other rows of its group, given as `Type:id`. If the
    /// push deletes the row, `current` is the server's row.
    case groupFailed(by: [String], current: RowPatch?)
}

/// Why the server will never apply a row as it was sent.
public struct Refusal: Sendable, Hashable {
    /// A word of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public var code: String
    /// The column at fault, if there is one.
    public var column: String?
    /// A sentence for the user.
    public var message: String
    /// The server's row, or nil if the server has none. If it is nil after a refused deletion, or after a refused next
    /// life of a row, the device receives the whole table again.
    public var current: RowPatch?
    /// All columns at fault, such as those of a unique index.
    public var columns: [String]
    /// After a `uniqueViolation`: the id of the row that has the values, in its wire form. Nil: unknown.
    public var winner: String?

    /// Makes a refusal.
    ///
    /// - Parameters:
    ///   - code: A word of the protocol.
    ///   - column: The column at fault. Default: the first of `columns`.
    ///   - message: A sentence for the user.
    ///   - current: The server's row. Default: the server has none.
    ///   - columns: All columns at fault. Default: `column`.
    ///   - winner: The id of the row that has the unique values. Default: unknown.
    public init(
        code: String, column: String? = nil, message: String, current: RowPatch? = nil, columns: [String] = [],
        winner: String? = nil
    ) {
        self.code = code
        self.column = column ?? columns.first
        self.message = message
        self.current = current
        self.columns = columns.isEmpty ? [column].compactMap(\.self) : columns
        self.winner = winner
    }
}
