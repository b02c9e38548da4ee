// This source file is part of the Optimist open source project, under the MIT licence.

/// The answer to ``Remote/changedSpaces(since:)``. Spaces in neither property have not changed, or the remote does not
/// know them.
public struct ChangedSpaces: Sendable, Hashable {
    /// The spaces that have changes after their cursors.
    public var changed: Set<String>
    /// The spaces that the person may no longer use.
    public var ended: [String: EndedAccess]

    /// Creates an answer.
    public init(changed: Set<String>, ended: [String: EndedAccess] = [:]) {
        self.changed = changed
        self.ended = ended
    }
}
