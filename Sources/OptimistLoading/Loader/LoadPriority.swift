// This source file is part of the Optimist open source project, under the MIT licence.

/// How soon a caller needs a value (C8).
public enum LoadPriority: Int, Sendable, CaseIterable, Comparable {
    /// Not on the screen yet, and perhaps never.
    case prefetch
    /// About to come onto the screen.
    case soon
    /// The user is looking at the place where it belongs.
    case visible

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
