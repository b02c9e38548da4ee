// This source file is part of the Optimist open source project, under the MIT licence.

/// The probabilities of faults in an app's requests. Each request meets at most one fault. The chances are between 0
/// and 1 and add up to at most 1.
public struct FaultConditions: Sendable, Hashable {
    /// The added latency of a request, drawn from this range. Default: zero.
    public var latency: ClosedRange<Duration>
    /// The chance of each fault. Default: none.
    public var chances: [HTTPFault: Double]

    /// Creates conditions. The default is the same as ``perfect``.
    public init(latency: ClosedRange<Duration> = .zero ... .zero, chances: [HTTPFault: Double] = [:]) {
        self.latency = latency
        self.chances = chances
    }

    /// Every request reaches the server, without faults.
    public static let perfect = Self()
    /// A slow connection, as in a lift or a train. In a hundred requests, 16 are lost in some way, and 4 arrive twice.
    public static let flaky = Self(
        latency: .milliseconds(200) ... .seconds(2),
        chances: [
            .requestLost: 0.05, .answerLost: 0.05, .stalled: 0.02, .brokenBody(afterBytes: 100): 0.04,
            .duplicated: 0.04,
        ])
    /// No network.
    public static let offline = Self(chances: [.unreachable: 1])
    /// A hotel network before its terms are accepted.
    public static let captivePortal = Self(chances: [.captivePortal: 1])
    /// The server refuses half of all access tokens.
    public static let tokenStorm = Self(chances: [.tokenRefused: 0.5])
    /// An overloaded server: three of four requests must be retried after two seconds.
    public static let overloaded = Self(chances: [.busy(retryAfter: 2): 0.5, .busy(retryAfter: 2, status: 503): 0.25])
}
