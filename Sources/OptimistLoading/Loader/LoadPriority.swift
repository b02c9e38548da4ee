// This source file is part of the Optimist open source project, under the MIT licence.

/// How soon a caller needs a value.
public enum LoadPriority: Int, Sendable, CaseIterable, Comparable {
    /// Not on screen yet, and perhaps never.
    case prefetch
    /// About to appear on screen.
    case soon
    /// The user is looking at its place on screen.
    case visible

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
