// This source file is part of the Optimist open source project, under the MIT licence.

/// How far ahead of the screen a feed works, and how often it tells what has changed.
public struct FeedLimits: Sendable {
    /// How many items beyond the screen are loaded, in the direction of scrolling. Default: 16.
    public var ahead: Int
    /// How many on the other side. Default: 4.
    public var behind: Int
    /// The next page is asked for when fewer items than this follow the screen in its section. Default: 16.
    public var nextPage: Int
    /// The most pages that a refresh asks for before it shows them: see ``Feed/refresh()``. Default: 8.
    public var refreshPages: Int
    /// The least time between two snapshots. Default: 16 ms, a frame (F3).
    public var frame: Duration

    /// - Precondition: No number is negative, and a refresh asks for a page at least.
    public init(
        ahead: Int = 16, behind: Int = 4, nextPage: Int = 16, refreshPages: Int = 8, frame: Duration = .milliseconds(16)
    ) {
        precondition(ahead >= 0 && behind >= 0 && nextPage >= 0 && frame >= .zero, "a limit is not negative")
        precondition(refreshPages >= 1, "a refresh asks for a page at least")
        self.ahead = ahead
        self.behind = behind
        self.nextPage = nextPage
        self.refreshPages = refreshPages
        self.frame = frame
    }
}
