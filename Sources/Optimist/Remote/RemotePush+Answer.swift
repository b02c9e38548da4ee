// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

extension RemotePush {
    /// A remote's answer to a push.
    public struct Answer: Sendable, Hashable {
        /// A verdict for each row of the push, in its order. With ``init(_:of:)`` a remote answers only some of them.
        public var verdicts: [Verdict]
        /// The tables whose rows the remote does not accept from this device, and why. The verdicts of these rows are
        /// ``Verdict/retry(after:_:)``. Default: none.
        public var withheld: [String: WithheldReason] = [:]
        /// The epoch of the remote's database that answered: see ``RemoteEpoch``. Nil: the database has only one.
        public var epoch: String?
        /// The remote's time of day when it answered. Nil: it does not say.
        public var serverTime: Date?

        /// Makes an answer with verdicts only.
        public init(_ verdicts: [Verdict]) { self.verdicts = verdicts }

        /// Makes an answer of a remote that judged only the first rows of a push, for example because it sends them to its
        /// backend one by one and lost the connection halfway.
        ///
        /// The rows without a verdict stay pending, and the engine sends them again at once. A remote that judged no row
        /// throws ``RemoteFailure/unreachable(_:)`` instead, so that the engine waits before it tries again.
        ///
        /// - Parameters:
        ///   - first: The verdicts of the first rows, in the order of the push, at most one for each row. They end between
        ///     two groups.
        ///   - push: The push.
        public init(_ first: [Verdict], of push: RemotePush) {
            let missing = max(push.rows.count - first.count, 0)
            self.init(first + Array(repeating: Verdict.retry(after: .zero), count: missing))
        }
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
        case retry(after: Duration?, DeferralReason? = nil)
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
}
