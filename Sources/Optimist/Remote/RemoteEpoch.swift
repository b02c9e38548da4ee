// This source file is part of the Optimist open source project, under the MIT licence.

/// An epoch of the remote's database: one life of it. A new epoch begins whenever the database may have gone back.
///
/// Epochs are only for remotes whose cursors are ordered (``RemoteGuarantees``). The engine ignores the epochs of other
/// remotes.
public struct RemoteEpoch: Sendable, Hashable {
    /// The epoch's name: the part of a cursor before its first point.
    public var name: String
    /// The account's last transaction before this epoch began.
    public var firstSeq: Int64

    /// Makes an epoch.
    public init(name: String, firstSeq: Int64) {
        self.name = name
        self.firstSeq = firstSeq
    }
}
