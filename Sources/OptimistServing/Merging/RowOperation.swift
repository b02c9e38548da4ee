// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// An operation on one row of a `/set`: the row, and what the client asks for.
public struct RowOperation: Sendable {
    /// What the client asks for.
    public enum Action: Sendable {
        /// Create the row. If the server already has it, the server merges the columns.
        case create(RowPatch)
        /// Merge these columns into the row.
        case update(RowPatch)
        /// Delete the row. Nil: delete its current life, now.
        case destroy(Tombstone?)
    }

    /// The row, under the current name of its type.
    public var key: RowKey
    /// What the client asks for.
    public var action: Action
    /// An error that was found while reading the operation. Nil: none.
    var objection: SetError?
    /// Whether the operation's clocks are the sender's own. Without a push number they may be the server's clocks, from
    /// a row that a client sends back whole. A different value under the server's clock is then a new write.
    var hasOwnClocks = true

    init(key: RowKey, action: Action) {
        self.key = key
        self.action = action
    }

    /// The values that the operation gives to columns. Nil: it deletes the row.
    var values: JSONObject? {
        switch action {
        case .create(let patch), .update(let patch): patch.values
        case .destroy: nil
        }
    }

    /// Whether applying the operation again changes nothing, because the sender says when it was written (S3).
    var isRepeatable: Bool {
        switch action {
        case .create(let patch), .update(let patch): patch.clocks != nil
        case .destroy(let tombstone): tombstone != nil
        }
    }
}

/// The result of an operation.
enum RowVerdict: Hashable, Sendable {
    /// The operation was applied. `won` has the columns in which the server's value stands instead of the one sent.
    case accepted(won: RowPatch?)
    /// The row is deleted, by a delete that beats the operation. Nil: the row is alive again at the end of the same push.
    case gone(Tombstone?)
    /// The row has been merged into another one, to which the operation was applied.
    case mergedInto(String)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }

    /// The size of the server's row in this verdict, in bytes of its text before escaping.
    var weight: Int {
        switch self {
        case .accepted(let patch?): patch.weight
        case .refused(let error): error.current?.weight ?? 0
        case .accepted, .gone, .mergedInto: 0
        }
    }
}

extension RowPatch {
    /// The size of the columns, and of the totals of the asking origins.
    fileprivate var weight: Int { JSON.object(values).weight + RowPatch.json(ofMine: mine).weight }
}

/// The effect of one operation on its row, before other rows are taken into account.
enum RowStep: Sendable {
    /// The operation was merged into a life. `lost` are the columns in which the server's value stands.
    case merged(life: Int, lost: Set<String>)
    case destroyed
    case gone
    /// The row has been merged into another row, to which this change applies.
    case follow(MergeRow)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }
}
