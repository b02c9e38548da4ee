// This source file is part of the Optimist open source project, under the MIT licence.

/// The protocol's constants, shared by both sides.
@_spi(Internals) public enum RowSync {
    /// The vendor capability, called RS in the documentation.
    public static let capability = "urn:x-optimist:rowsync"
    /// The capability of JMAP itself, RFC 8620. Without it, a request has no methods.
    public static let core = "urn:ietf:params:jmap:core"
    /// The RS version of this library. Additions increment it; a breaking change gets another ``capability``.
    public static let version = 1

    /// A server's limits, unless its session advertises others. Sizes are in bytes of UTF-8.
    public enum Limit {
        /// The maximum size of a request body, 10 MB. The server answers a larger one with 413.
        public static let requestBytes = 10_000_000
        /// The maximum size of a row, 1 MB. A larger one is `tooLarge`.
        public static let rowBytes = 1_000_000
        /// The maximum number of rows in a push or `/set` call, and of ids in a `/get`: 5,000.
        public static let rowsInSet = 5_000
        /// The advertised maximum of rows in a `/set` call, 1,000: few enough for a slow server if the rows are of
        /// ordinary size. A faster server accepts up to ``rowsInSet``.
        public static let advertisedRowsInSet = 1_000
        /// The maximum number of method calls in a request, 64.
        public static let callsInRequest = 64
        /// The maximum number of accounts in a request that writes, 8. The server locks them all.
        public static let accountsInSet = 8
        /// The maximum number of accounts in a `RowSync/changed` call, and of a person's spaces in the session: 1,000.
        public static let accountsInChanged = 1_000
        /// The maximum number of ids in ``Request/origins``, 5,000: far more than a device collects. The device may not
        /// leave any out, because it would count an omitted origin's total twice.
        public static let originsInRequest = 5_000
        /// The default number of rows in a page, 5,000.
        public static let pageRows = 5_000
        /// The maximum number of rows in a page, 20,000. The server lowers a larger `maxChanges`.
        public static let maxPageRows = 20_000
        /// The maximum number of concurrent requests in a device's session, 8. The server answers further requests with
        /// 429.
        public static let concurrentRequests = 8
        /// The maximum nesting depth of arrays and objects, 32.
        public static let jsonDepth = 32
        /// How far a clock may be ahead of the server's, in milliseconds. The server replaces a clock further ahead.
        public static let clockSkewMilliseconds: Int64 = 60_000
        /// The number of days the server remembers a deleted row.
        public static let tombstoneDays = 90
    }
}

/// A position in an account's transaction log: `epoch.seq`, or `epoch.seq.k` after k rows of one transaction.
///
/// The client treats it as opaque. A fourth part, `epoch.seq.k.b`, marks clients that started empty; other clients may
/// hold rows that have already been deleted.
@_spi(Internals) public struct SyncState: Hashable, Sendable, CustomStringConvertible {
    /// The epoch of the server's database. A new one begins whenever the database may have been restored to an earlier
    /// state.
    public var epoch: String
    /// The last transaction that the client has received in full. Zero: none.
    public var seq: Int64
    /// How many rows of the transaction after ``seq`` the client has received. Zero between transactions.
    public var offset: Int
    /// The account's seq when the client started empty, until it has caught up. Nil otherwise.
    public var begun: Int64?

    /// Makes a state from its parts. By default it is between transactions, for a client that has caught up.
    public init(epoch: String, seq: Int64, offset: Int = 0, begun: Int64? = nil) {
        self.epoch = epoch
        self.seq = seq
        self.offset = offset
        self.begun = begun
    }

    /// Reads the wire form. Returns nil unless the text is `epoch.seq`, `epoch.seq.k` or `epoch.seq.k.b`, with
    /// nonnegative numbers and an epoch of 1 to 64 ASCII letters and digits.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (2...4).contains(parts.count), WriteClock.isDeviceID(String(parts[0])), let seq = Int64(parts[1]),
            seq >= 0
        else {
            return nil
        }
        guard let offset = parts.count > 2 ? Int(parts[2]) : 0, offset >= 0 else { return nil }
        self.init(epoch: String(parts[0]), seq: seq, offset: offset)
        guard parts.count == 4 else { return }
        guard let begun = Int64(parts[3]), begun >= 0 else { return nil }
        self.begun = begun
    }

    /// The later of two states of an account. `other` is later if its epoch differs, because the database may have been
    /// restored.
    public func followed(by other: SyncState) -> SyncState {
        epoch == other.epoch && seq > other.seq ? self : other
    }

    public var description: String {
        if let begun { return "\(epoch).\(seq).\(offset).\(begun)" }
        return offset == 0 ? "\(epoch).\(seq)" : "\(epoch).\(seq).\(offset)"
    }
}
