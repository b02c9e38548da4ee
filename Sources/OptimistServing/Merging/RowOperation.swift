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
    case refused(SetError)

    var isRefusal: Bool { if case .refused = self { true } else { false } }
}
