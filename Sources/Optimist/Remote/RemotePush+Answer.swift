// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

extension RemotePush {
    /// A remote's answer to a push.
    public struct Answer: Sendable, Hashable {
        /// One verdict per row, in the order of the push. Use ``init(_:of:)`` if only some rows have verdicts.
        public var verdicts: [Verdict]
        /// The tables that the remote withholds from this device, and why. Their rows have the verdict
        /// ``Verdict/retry(after:_:)``. Default: none.
        public var withheld: [String: WithheldReason] = [:]
        /// The epoch of the remote's database: see ``RemoteEpoch``. Nil if there has only been one.
        public var epoch: String?
        /// The remote's time when it answered. Nil if unknown.
        public var serverTime: Date?

        /// Creates an answer with only verdicts.
        public init(_ verdicts: [Verdict]) { self.verdicts = verdicts }

        /// Creates an answer for the first rows of a push, for example if the remote forwards rows one by one and lost
        /// its connection halfway.
        ///
        /// The engine resends the other rows immediately. If there is no verdict at all, throw
        /// ``RemoteFailure/unreachable(_:)`` instead, so that the engine waits before it retries.
        ///
        /// - Parameters:
        ///   - first: The verdicts of the first rows, in the order of the push. They must end between two groups.
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
        /// The server merged the row into another row that already has its values of a unique index. From now on, both
        /// are one row with the id `winner` (M6).
        case mergedInto(seq: Int64, winner: String)
        /// As of transaction `seq`, the server has deleted a later generation of the row than the sent one. A server
        /// that can be restored from a backup also returns the tombstone, so that the device can send the deletion
        /// again (L3). The tombstone is nil if unknown.
        case gone(seq: Int64, Tombstone? = nil)
        /// The server will never apply the row.
        case rejected(Refusal)
        /// The server does not accept the row for now. The engine resends it after this time, at most a day. If nil,
        /// the engine chooses the time. The app can show the reason. Default: nil, unknown.
        case retry(after: Duration?, DeferralReason? = nil)
        /// The server did not apply part of the row: it does not know that part's generation, or only knows how that
        /// generation ended.
        case lifeUnknown
        /// The server first needs another row, given as `Type:id`.
        case blocked(by: String)
        /// The server did not move the row, because rows that refer to it would stay behind, some of them given as
        /// `Type:id`. The engine resends the row together with them as soon as it knows them, or after
        /// their unsent deletion. If the app does not have
        /// a row that the server names, because it cannot show it, the move ends as a rejection.
        case leaves([String])
        /// The server did not apply the row because it did not apply other rows of its group, given as `Type:id`. For a
        /// deletion, `current` is the server's row.
        case groupFailed(by: [String], current: RowPatch?)
    }

    /// Why the server will never apply a row as sent.
    public struct Refusal: Sendable, Hashable {
        /// A code of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
        public var code: String
        /// The column at fault, if any.
        public var column: String?
        /// A message for the user.
        public var message: String
        /// The server's row, or nil if it does not exist. If nil after a refused deletion or a refused recreation, the
        /// device receives the entire table again.
        public var current: RowPatch?
        /// All columns at fault, such as those of a unique index.
        public var columns: [String]
        /// After a `uniqueViolation`, the wire id of the row that has the values. Nil if unknown.
        public var winner: String?

        /// Creates a refusal.
        ///
        /// - Parameters:
        ///   - code: A code of the protocol.
        ///   - column: The column at fault. Default: the first of `columns`.
        ///   - message: A message for the user.
        ///   - current: The server's row. Default: nil.
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
