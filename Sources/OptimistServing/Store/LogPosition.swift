// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A position in the order of an account's changes: the first change that a device has not received.
///
/// The store numbers a transaction's rows from zero, over all types. A row keeps its number until it changes again, so
/// later changes never make a device miss a row.
@_spi(Internals) public struct LogPosition: Hashable, Comparable, Sendable {
    /// The transaction, counted from 1.
    public var seq: Int64
    /// The row's number within the transaction, counted from 0.
    public var ordinal: Int

    public init(seq: Int64, ordinal: Int) {
        self.seq = seq
        self.ordinal = ordinal
    }

    /// The position before the first change.
    public static let start = LogPosition(seq: 1, ordinal: 0)

    public static func < (a: Self, b: Self) -> Bool { (a.seq, a.ordinal) < (b.seq, b.ordinal) }
}

extension LogPosition {
    init(after state: SyncState) { self.init(seq: state.seq + 1, ordinal: state.offset) }

    init(after seq: Int64) { self.init(seq: seq + 1, ordinal: 0) }

    /// The state of a device that has received everything before this position.
    func state(epoch: String) -> SyncState { SyncState(epoch: epoch, seq: seq - 1, offset: ordinal) }
}
