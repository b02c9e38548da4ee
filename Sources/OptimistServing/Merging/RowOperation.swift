// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// An operation on one row of a `/set` call.
public struct RowOperation: Sendable {
    /// The kinds of operations.
    public enum Action: Sendable {
        /// Create the row. If the server already has it, merge the columns.
        case create(RowPatch)
        /// Merge these columns into the row.
        case update(RowPatch)
        /// Delete the row. Nil: delete its current life, now.
        case destroy(Tombstone?)
    }

    /// The row, under the current name of its type.
    public var key: RowKey
    /// What the client requests.
    public var action: Action
    /// The place of the row's account in the accounts of the evaluation.
    var book = 0
    /// The place of the account that the row leaves. The action's values are then unsent, and a creation has the full
    /// row. Nil: the row does not move.
    var source: Int?
    var objection: SetError?
    /// Whether the operation's clocks are the sender's own. Without a push number, the clocks may be the server's, from
    /// a row that a client sends back. A different value under the server's clock is then a new write.
    var hasOwnClocks = true

    init(key: RowKey, action: Action) {
        self.key = key
        self.action = action
    }

    var values: JSONObject? {
        switch action {
        case .create(let patch), .update(let patch): patch.values
        case .destroy: nil
        }
    }

    /// Whether applying the operation again has no effect, because it includes the time of the write (S3).
    var isRepeatable: Bool {
        switch action {
        case .create(let patch), .update(let patch): patch.clocks != nil
        case .destroy(let tombstone): tombstone != nil
        }
    }
}

enum RowVerdict: Hashable, Sendable {
    /// The operation was applied. `won` has the columns whose server value won over the value sent.
    case accepted(won: RowPatch?)
    /// A delete won over the operation. Nil: the row is alive again at the end of the same push.
    case gone(Tombstone?)
    /// The row has been merged into another row, and the operation was applied there.
    case mergedInto(String)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }

    /// The size of the server's row, in bytes of text before escaping.
    var weight: Int {
        switch self {
        case .accepted(let patch?): patch.weight
        case .refused(let error): error.current?.weight ?? 0
        case .accepted, .gone, .mergedInto: 0
        }
    }
}

extension RowPatch {
    fileprivate var weight: Int { JSON.object(values).weight + RowPatch.json(ofMine: mine).weight }
}

enum RowStep: Sendable {
    /// The operation was merged into a life. The server's value won in the columns `lost`.
    case merged(life: Int, lost: Set<String>)
    case destroyed
    case gone
    /// The row has been merged into another row, and this change applies there.
    case follow(MergeRow)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }
}
