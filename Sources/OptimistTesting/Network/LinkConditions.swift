// This source file is part of the Optimist open source project, under the MIT licence.

/// The effects of a simulated network on the messages of one device. Chances are between 0 and 1, and apply to each
/// message.
public struct LinkConditions: Sendable, Hashable {
    /// Whether messages get through at all. Default: true.
    public var isOnline = true
    /// The latency in one direction, drawn from this range for each message. Messages can overtake each other. Default:
    /// 5 to 80 ms.
    public var latency: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(80)
    /// The chance that a request never arrives. Default: 0.
    public var requestLoss = 0.0
    /// The chance that a request is processed but its answer never arrives. Default: 0.
    public var answerLoss = 0.0
    /// The chance that a request arrives twice. Default: 0.
    public var duplication = 0.0
    /// The chance that an answer's body is truncated. Default: 0.
    public var truncation = 0.0
    /// The chance that a stream breaks at a message. Default: 0.
    public var streamCut = 0.0

    /// Creates conditions with each property's default, so that every message arrives.
    public init() {}

    /// Every message arrives once, quickly.
    public static let perfect = Self()
    /// No message arrives.
    public static let offline: Self = {
        var conditions = Self()
        conditions.isOnline = false
        return conditions
    }()
    /// All faults occur now and then.
    public static let flaky: Self = {
        var conditions = Self()
        conditions.latency = .milliseconds(20) ... .seconds(4)
        conditions.requestLoss = 0.1
        conditions.answerLoss = 0.1
        conditions.duplication = 0.1
        conditions.truncation = 0.05
        conditions.streamCut = 0.1
        return conditions
    }()
}

/// A fault that a message met.
@_spi(Internals) public enum NetworkTrouble: String, Sendable, Hashable, CaseIterable {
    /// The device had no network.
    case offline
    case requestLost
    /// The server processed the request, but its answer was lost.
    case answerLost
    case duplicated
    /// The answer's body was truncated.
    case truncated
    /// The stream broke.
    case streamCut
    /// The server was down.
    case serverDown
    /// The server died while it was answering.
    case serverDied
}
