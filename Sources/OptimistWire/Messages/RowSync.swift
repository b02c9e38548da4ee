// This source file is part of the Optimist open source project, under the MIT licence.

/// The names that both sides share.
@_spi(Internals) public enum RowSync {
    /// The vendor capability, written RS in the documentation.
    public static let capability = "urn:x-optimist:rowsync"
    /// The capability of JMAP itself, RFC 8620. A request that does not use it has no methods.
    public static let core = "urn:ietf:params:jmap:core"
    /// The version of RS that this library speaks. It goes up with additions; a breaking change gets another
    /// ``capability``.
    public static let version = 1

    /// A server's limits unless its session names others. Sizes are in bytes of UTF-8.
    public enum Limit {
        /// The largest body of a request, 10 MB. A larger one is answered with 413.
        public static let requestBytes = 10_000_000
        /// The largest row, 1 MB. A larger one is `tooLarge`.
        public static let rowBytes = 1_000_000
        /// The most rows in a push, in a `/set` call, and ids in a `/get`: 5,000.
        public static let rowsInSet = 5_000
        /// How many rows a `/set` call has at most by the session resource, 1,000: rows of ordinary size that are never too
        /// much work, however slow the server's machine is. A quick one takes up to ``rowsInSet``.
        public static let advertisedRowsInSet = 1_000
        /// The most method calls in a request, 64.
        public static let callsInRequest = 64
        /// The most ids in ``Request/origins``, 5,000: far more than a device collects in its life. A device that left
        /// one out would count that origin's total twice.
        public static let originsInRequest = 5_000
        /// How many rows a page has if the call does not say, 5,000.
        public static let pageRows = 5_000
        /// The most rows in a page, 20,000. The server lowers a larger `maxChanges`.
        public static let maxPageRows = 20_000
        /// The most requests of one device's session that the server answers at the same time, 8. The next is answered
        /// with 429.
        public static let concurrentRequests = 8
        /// How deep arrays and objects may be nested, 32.
        public static let jsonDepth = 32
        /// How far a clock may run ahead of the server's, in milliseconds. The server replaces a clock that is further
        /// ahead.
        public static let clockSkewMilliseconds: Int64 = 60_000
        /// How many days the server remembers a deleted row.
        public static let tombstoneDays = 90
    }
}

/// A place in the order of an account's transactions: `epoch.seq`, or `epoch.seq.k` after k rows of one transaction.
///
/// To a client it means nothing but that place. The server tells those who began with nothing, `epoch.seq.k.b`, from those
/// who may have rows that were deleted since.
@_spi(Internals) public struct SyncState: Hashable, Sendable, CustomStringConvertible {
    /// The life of the server's database in which the state was made. Another one begins whenever the database may have
    /// gone back.
    public var epoch: String
    /// The number of the last transaction that the client has whole. Zero: none.
    public var seq: Int64
    /// How many rows of the transaction after ``seq`` the client has. Zero between transactions.
    public var offset: Int
    /// The account's seq when the client began with nothing, while it is still catching up. Nil otherwise.
    public var begun: Int64?

    /// Makes a state from its parts. The defaults are a place between transactions, of a client that is not catching
    /// up.
    public init(epoch: String, seq: Int64, offset: Int = 0, begun: Int64? = nil) {
        self.epoch = epoch
        self.seq = seq
        self.offset = offset
        self.begun = begun
    }

    /// Reads the wire form. Returns nil unless the text is `epoch.seq`, `epoch.seq.k` or `epoch.seq.k.b`, with numbers
    /// from 0 on and an epoch of 1 to 64 ASCII letters and digits.
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

    /// The later of two states of an account. A state of another epoch is later: the database may have gone back with it.
    public func followed(by other: SyncState) -> SyncState {
        epoch == other.epoch && seq > other.seq ? self : other
    }

    public var description: String {
        if let begun { return "\(epoch).\(seq).\(offset).\(begun)" }
        return offset == 0 ? "\(epoch).\(seq)" : "\(epoch).\(seq).\(offset)"
    }
}
