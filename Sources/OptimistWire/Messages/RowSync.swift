// This source file is part of the Optimist open source project, under the MIT licence.

/// The names that both sides share.
public enum RowSync {
    /// The vendor capability, written RS in the documentation.
    public static let capability = "urn:x-optimist:rowsync"
    public static let core = "urn:ietf:params:jmap:core"
    public static let version = 1

    /// Limits a server has unless it says otherwise in its session. Sizes in bytes.
    public enum Limit {
        public static let requestBytes = 10_000_000
        public static let rowBytes = 1_000_000
        public static let rowsInSet = 5_000
        public static let callsInRequest = 64
        /// Far more than a device has in its life: to leave one out would count its totals twice.
        public static let originsInRequest = 5_000
        public static let pageRows = 5_000
        public static let maxPageRows = 20_000
        public static let concurrentRequests = 8
        public static let jsonDepth = 32
        /// How far a clock may run ahead of the server's, in milliseconds.
        public static let clockSkewMilliseconds: Int64 = 60_000
        /// For how many days a deleted row is remembered.
        public static let tombstoneDays = 90
    }
}

/// A place in the order of an account's transactions: `epoch.seq`, or `epoch.seq.k` after k rows of one transaction.
///
/// To a client it means nothing but that place. The server tells those who began with nothing, `epoch.seq.k.b`, from those
/// who may have rows that were deleted since.
public struct SyncState: Hashable, Sendable, CustomStringConvertible {
    public var epoch: String
    public var seq: Int64
    /// How many rows of the transaction after `seq` have been received. Zero between transactions.
    public var offset: Int
    /// The account's seq when the client began to receive from nothing, as long as that is under way.
    public var begun: Int64?

    public init(epoch: String, seq: Int64, offset: Int = 0, begun: Int64? = nil) {
        self.epoch = epoch
        self.seq = seq
        self.offset = offset
        self.begun = begun
    }

    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (2...4).contains(parts.count), Clock.isDeviceID(String(parts[0])), let seq = Int64(parts[1]), seq >= 0
        else {
            return nil
        }
        guard let offset = parts.count > 2 ? Int(parts[2]) : 0, offset >= 0 else { return nil }
        self.init(epoch: String(parts[0]), seq: seq, offset: offset)
        guard parts.count == 4 else { return }
        guard let begun = Int64(parts[3]), begun >= 0 else { return nil }
        self.begun = begun
    }

    public var description: String {
        if let begun { return "\(epoch).\(seq).\(offset).\(begun)" }
        return offset == 0 ? "\(epoch).\(seq)" : "\(epoch).\(seq).\(offset)"
    }
}
