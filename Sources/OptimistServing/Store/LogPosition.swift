// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A place in the order of an account's changes: the first change that a device has not received.
///
/// A transaction's rows are numbered from zero as they are stored, over all types. The number stays with the row until
/// the row changes again, so a device that has received the rows below a number misses none when others move on.
public struct LogPosition: Hashable, Comparable, Sendable {
    /// The transaction, counted from 1.
    public var seq: Int64
    /// The number of the row within the transaction, counted from 0.
    public var ordinal: Int

    /// Makes a place.
    public init(seq: Int64, ordinal: Int) {
        self.seq = seq
        self.ordinal = ordinal
    }

    /// The place before the first change.
    public static let start = LogPosition(seq: 1, ordinal: 0)

    public static func < (a: Self, b: Self) -> Bool { (a.seq, a.ordinal) < (b.seq, b.ordinal) }
}

extension LogPosition {
    init(after state: SyncState) { self.init(seq: state.seq + 1, ordinal: state.offset) }

    /// The place that follows a whole transaction.
    init(after seq: Int64) { self.init(seq: seq + 1, ordinal: 0) }

    /// The state of a device that has received everything before this place.
    func state(epoch: String) -> SyncState { SyncState(epoch: epoch, seq: seq - 1, offset: ordinal) }
}
