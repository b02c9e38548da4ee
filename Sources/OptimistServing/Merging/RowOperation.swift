// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// What one row of a /set asks for.
public struct RowOperation: Sendable {
    public enum Action: Sendable {
        case create(RowPatch)
        case update(RowPatch)
        case destroy(Tombstone?)
    }

    public var key: RowKey
    public var action: Action
}

/// What became of it.
enum RowVerdict: Hashable, Sendable {
    /// Applied. `won` holds the columns in which the server's value stands instead of the one sent.
    case accepted(won: RowPatch?)
    /// The row is deleted, by a delete that beats what was sent.
    case gone
    /// The row has become one with another one, to which this was applied.
    case mergedInto(String)
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }
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
