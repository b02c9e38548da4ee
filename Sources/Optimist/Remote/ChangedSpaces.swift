// This source file is part of the Optimist open source project, under the MIT licence.

/// The answer to ``Remote/changedSpaces(since:)``. Spaces in no property have not changed.
public struct ChangedSpaces: Sendable, Hashable {
    /// The spaces that have changes after their cursors.
    public var changed: Set<String>
    /// The spaces that the person may no longer use.
    public var ended: [String: EndedAccess]
    /// The spaces that the remote does not know, or does not say so to this person. If ``epoch`` is the epoch of a
    /// space's cursor, the space was deleted. Otherwise the remote may have lost it, and the device keeps its rows.
    /// Default: none.
    public var missing: Set<String> = []
    /// The epoch of the remote's database when it answered. Default: nil, unknown.
    public var epoch: String?

    /// Creates an answer.
    public init(changed: Set<String>, ended: [String: EndedAccess] = [:]) {
        self.changed = changed
        self.ended = ended
    }
}
