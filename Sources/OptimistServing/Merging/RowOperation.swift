// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// One row of a `/set`: which row, and what the client asks for.
public struct RowOperation: Sendable {
    /// What the client asks for.
    public enum Action: Sendable {
        /// To create the row. If the server has it already, the columns are merged.
        case create(RowPatch)
        /// To merge these columns into the row.
        case update(RowPatch)
        /// To delete the row. Nil: its present life, now.
        case destroy(Tombstone?)
    }

    /// The row, by the present name of its type.
    public var key: RowKey
    /// What the client asks for.
    public var action: Action
    /// The error that can be seen without looking at other rows.
    var objection: SetError?
    /// Whether its clocks are the sender's own. Without a push number they may be the server's, from a row that a client
    /// sends back whole: under the clock that the server has, another value is then a new write.
    var hasOwnClocks = true

    init(key: RowKey, action: Action) {
        self.key = key
        self.action = action
    }

    /// Whether doing it once more changes nothing, as its sender says when it was written (S3).
    var isRepeatable: Bool {
        switch action {
        case .create(let patch), .update(let patch): patch.clocks != nil
        case .destroy(let tombstone): tombstone != nil
        }
    }
}

/// What became of it.
enum RowVerdict: Hashable, Sendable {
    /// Applied. `won` holds the columns in which the server's value stands instead of the one sent.
    case accepted(won: RowPatch?)
    /// The row is deleted, by a delete that beats what was sent. Nil: by one that the same push has undone.
    case gone(Tombstone?)
    /// The row has become one with another one, to which this was applied.
    case mergedInto(String)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }

    /// How much of the server's row it carries, in bytes of its text before escaping.
    var weight: Int {
        switch self {
        case .accepted(let patch?): patch.weight
        case .refused(let error): error.current?.weight ?? 0
        case .accepted, .gone, .mergedInto: 0
        }
    }
}

extension RowPatch {
    /// That of its columns, and of what the asking origins have counted there.
    fileprivate var weight: Int { JSON.object(values).weight + RowPatch.json(ofMine: mine).weight }
}

/// What one operation made of its row, before other rows have their say.
enum RowStep: Sendable {
    /// Merged into a life. `lost` are the columns in which the server's value stands.
    case merged(life: Int, lost: Set<String>)
    case destroyed
    case gone
    /// The row has become one with another, and this is for that.
    case follow(MergeRow)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }
}
