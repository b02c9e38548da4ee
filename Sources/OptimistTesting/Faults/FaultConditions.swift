// This source file is part of the Optimist open source project, under the MIT licence.

/// How often each fault meets an app's requests. One fault at most is drawn for each request; chances are between 0 and
/// 1, and together at most 1.
public struct FaultConditions: Sendable, Hashable {
    /// How much longer each request takes: a time drawn from this range. Default: zero.
    public var latency: ClosedRange<Duration>
    /// How often each fault happens. Default: never.
    public var chances: [HTTPFault: Double]

    /// Makes conditions, by default ``perfect`` ones.
    public init(latency: ClosedRange<Duration> = .zero ... .zero, chances: [HTTPFault: Double] = [:]) {
        self.latency = latency
        self.chances = chances
    }

    /// Every request is answered by the server.
    public static let perfect = Self()
    /// A lift, a train: slow. In a hundred requests 16 are lost in one way or another, and 4 come twice and are answered.
    public static let flaky = Self(
        latency: .milliseconds(200) ... .seconds(2),
        chances: [
            .requestLost: 0.05, .answerLost: 0.05, .stalled: 0.02, .brokenBody(afterBytes: 100): 0.04,
            .duplicated: 0.04,
        ])
    /// No network.
    public static let offline = Self(chances: [.unreachable: 1])
    /// A hotel's network before its page was clicked away.
    public static let captivePortal = Self(chances: [.captivePortal: 1])
    /// The server refuses half of all access tokens.
    public static let tokenStorm = Self(chances: [.tokenRefused: 0.5])
    /// The server is overloaded: three requests in four are to come again after two seconds.
    public static let overloaded = Self(chances: [.busy(retryAfter: 2): 0.5, .busy(retryAfter: 2, status: 503): 0.25])
}
