// This source file is part of the Optimist open source project, under the MIT licence.

/// An epoch of the remote's database. A new one begins whenever the database may have been restored to an earlier
/// state.
///
/// Only for remotes with ordered cursors (``RemoteGuarantees``). For other remotes, the engine ignores epochs.
public struct RemoteEpoch: Sendable, Hashable {
    /// The epoch's name: the part of a cursor before its first period.
    public var name: String
    /// The account's last transaction before this epoch.
    public var firstSeq: Int64

    /// Creates an epoch.
    public init(name: String, firstSeq: Int64) {
        self.name = name
        self.firstSeq = firstSeq
    }
}
