// This source file is part of the Optimist open source project, under the MIT licence.

/// How a network behaves: how slow, how narrow, how unreliable.
///
/// The default, ``online``, adds nothing. Every field may be combined with every other.
package struct NetworkConditions: Hashable, Sendable {
    /// How much longer a round trip takes: half of it is added on the way to the server, half on the way back. Opening
    /// a connection is not delayed. Default: zero.
    package var latency: Duration
    /// The most additional latency, drawn for each chunk and again split in halves. Bytes keep their order: a chunk
    /// never overtakes an earlier one. Default: zero.
    package var jitter: Duration
    /// Bytes per second, for each direction of each connection. Nil, the default, is unlimited.
    package var bandwidth: Int?
    /// How likely a connection is lost, in percent (`0...100`): drawn once when it is opened and once for each chunk
    /// that arrives from either side. A chunk is what one read from a socket gave, so at most 64 KB; a short request
    /// is one and its answer another. A lost connection is reset in both directions, and the chunk it was lost
    /// with is not delivered. Default: 0.
    package var lossPercent: Double
    /// The most bytes written at once, so that a peer sees messages in pieces. Nil, the default, does not slice.
    package var sliceBytes: Int?
    /// A black hole: connections are accepted and stay open, and nothing moves in either direction. Bytes under way are
    /// kept, and move on when the stall ends. Default: false.
    package var isStalled: Bool
    /// No network: open connections are reset, and new ones refused. Default: false.
    package var isOffline: Bool
    /// Closes a connection, in the ordinary way, once the server has answered so many bytes on it, counted since
    /// it was opened. Nil, the default, does not.
    package var truncateResponsesAfterBytes: Int?

    /// Makes conditions, by default those of a perfect network. The proxy brings numbers out of range into it.
    package init(
        latency: Duration = .zero, jitter: Duration = .zero, bandwidth: Int? = nil, lossPercent: Double = 0,
        sliceBytes: Int? = nil, isStalled: Bool = false, isOffline: Bool = false,
        truncateResponsesAfterBytes: Int? = nil
    ) {
        self.latency = latency
        self.jitter = jitter
        self.bandwidth = bandwidth
        self.lossPercent = lossPercent
        self.sliceBytes = sliceBytes
        self.isStalled = isStalled
        self.isOffline = isOffline
        self.truncateResponsesAfterBytes = truncateResponsesAfterBytes
    }
}

// MARK: - The networks people know

extension NetworkConditions {
    /// The networks that have a name.
    package enum Profile: String, CaseIterable, Codable, Sendable {
        /// ``NetworkConditions/online``
        case online
        /// ``NetworkConditions/fourG``
        case fourG = "4g"
        /// ``NetworkConditions/threeG``
        case threeG = "3g"
        /// ``NetworkConditions/flaky``
        case flaky
        /// ``NetworkConditions/offline``
        case offline

        /// The conditions of this network.
        package var conditions: NetworkConditions {
            switch self {
            case .online: .online
            case .fourG: .fourG
            case .threeG: .threeG
            case .flaky: .flaky
            case .offline: .offline
            }
        }
    }

    /// Adds nothing.
    package static let online = NetworkConditions()
    /// A good mobile network: 60–80 ms, 12 Mbit/s.
    package static let fourG = NetworkConditions(
        latency: .milliseconds(60), jitter: .milliseconds(20), bandwidth: 1_500_000)
    /// A slow mobile network: 300–400 ms, 1.6 Mbit/s.
    package static let threeG = NetworkConditions(
        latency: .milliseconds(300), jitter: .milliseconds(100), bandwidth: 200_000)
    /// A lift, a train: 400–800 ms, 400 kbit/s, one chunk in ten takes its connection down with it.
    package static let flaky = NetworkConditions(
        latency: .milliseconds(400), jitter: .milliseconds(400), bandwidth: 50_000, lossPercent: 10)
    /// No network at all.
    package static let offline = NetworkConditions(isOffline: true)
}

// MARK: - Limits

extension NetworkConditions {
    /// The same conditions with every value brought into its range, so that no input can make the proxy misbehave:
    /// waits in `0...10 minutes`, loss in `0...100`, counts of bytes at least 1 (a truncation may be at 0).
    var bounded: NetworkConditions {
        var result = self
        result.latency = min(max(latency, .zero), .seconds(600))
        result.jitter = min(max(jitter, .zero), .seconds(600))
        result.bandwidth = bandwidth.map { max($0, 1) }
        result.lossPercent = lossPercent.isNaN ? 0 : min(max(lossPercent, 0), 100)
        result.sliceBytes = sliceBytes.map { max($0, 1) }
        result.truncateResponsesAfterBytes = truncateResponsesAfterBytes.map { max($0, 0) }
        return result
    }
}
