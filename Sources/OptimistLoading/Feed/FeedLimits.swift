// This source file is part of the Optimist open source project, under the MIT licence.

/// How far ahead of the screen a feed loads, and how often it notifies observers.
public struct FeedLimits: Sendable {
    /// How many items beyond the screen are loaded, in the direction of scrolling. Default: 16.
    public var ahead: Int
    /// How many items are loaded on the other side. Default: 4.
    public var behind: Int
    /// The next page is requested when fewer items than this follow the screen in its section. Default: 16.
    public var nextPage: Int
    /// The most pages that a refresh loads before it shows them: see ``Feed/refresh()``. Default: 8.
    public var refreshPages: Int
    /// The minimum time between two snapshots. Default: 16 ms, one frame.
    public var frame: Duration

    /// Creates limits.
    ///
    /// - Precondition: No limit is negative, and `refreshPages` is at least 1.
    public init(
        ahead: Int = 16, behind: Int = 4, nextPage: Int = 16, refreshPages: Int = 8, frame: Duration = .milliseconds(16)
    ) {
        precondition(ahead >= 0 && behind >= 0 && nextPage >= 0 && frame >= .zero, "A limit must not be negative.")
        precondition(refreshPages >= 1, "A refresh must request at least one page.")
        self.ahead = ahead
        self.behind = behind
        self.nextPage = nextPage
        self.refreshPages = refreshPages
        self.frame = frame
    }
}
