// This source file is part of the Optimist open source project, under the MIT licence.

/// What a simulated network does to the messages of one device. Chances are between 0 and 1, for each message.
public struct LinkConditions: Sendable, Hashable {
    /// Whether any message gets through. Default: true.
    public var isOnline = true
    /// How long a message takes in one direction: a time drawn from this range for each message, so that messages
    /// overtake each other. Default: 5 to 80 ms.
    public var latency: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(80)
    /// How often a request never arrives. Default: never.
    public var requestLoss = 0.0
    /// How often a request is carried out and its answer never arrives. Default: never.
    public var answerLoss = 0.0
    /// How often a request arrives twice. Default: never.
    public var duplication = 0.0
    /// How often the body of an answer ends too early. Default: never.
    public var truncation = 0.0
    /// How often a stream breaks at a message. Default: never.
    public var streamCut = 0.0

    /// Makes conditions under which every message arrives. Each property says its default.
    public init() {}

    /// Everything arrives, once, soon.
    public static let perfect = Self()
    /// Nothing arrives.
    public static let offline: Self = {
        var conditions = Self()
        conditions.isOnline = false
        return conditions
    }()
    /// Everything that can go wrong does so now and then.
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

/// A kind of trouble that a message met.
@_spi(Internals) public enum NetworkTrouble: String, Sendable, Hashable, CaseIterable {
    /// The device had no network.
    case offline
    /// The request was lost.
    case requestLost
    /// The request was carried out, and its answer was lost.
    case answerLost
    /// The request arrived twice.
    case duplicated
    /// The body of the answer ended too early.
    case truncated
    /// The stream broke.
    case streamCut
    /// The server did not run.
    case serverDown
    /// The server died while it answered.
    case serverDied
}
