// This source file is part of the Optimist open source project, under the MIT licence.

/// How a network behaves: its latency, bandwidth and reliability.
///
/// The default, ``online``, adds no faults. All fields may be combined.
package struct NetworkConditions: Hashable, Sendable {
    /// Additional time for a round trip, half in each direction. Opening a connection is not delayed. Default: zero.
    package var latency: Duration
    /// The maximum of a random addition to ``latency``, drawn anew for each chunk. Half of it applies in each
    /// direction. A chunk never overtakes an earlier one. Default: zero.
    package var jitter: Duration
    /// Bytes per second, for each direction of each connection. Nil, the default, is unlimited.
    package var bandwidth: Int?
    /// The probability of losing a connection, in percent (`0...100`), drawn once when it opens and once for each chunk
    /// from either side. A chunk is the data of one socket read, at most 64 KB. A short request is one chunk, and its
    /// response another. A lost connection is reset in both directions, without delivering the chunk. Default: 0.
    package var lossPercent: Double
    /// The most bytes per write, so that a peer receives messages in pieces. Nil, the default, does not slice.
    package var sliceBytes: Int?
    /// A black hole: connections are accepted and stay open, but no data moves in either direction. Data in transit is
    /// kept, and moves on when the stall ends. Default: false.
    package var isStalled: Bool
    /// No network: open connections are reset, and new ones refused. Default: false.
    package var isOffline: Bool
    /// Closes a connection, in an orderly way, after this many bytes from the server since the connection opened. Nil,
    /// the default, never closes it.
    package var truncateResponsesAfterBytes: Int?

    /// Makes conditions. Default: a perfect network. The proxy clamps numbers to their ranges.
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

// MARK: - Named networks

extension NetworkConditions {
    package enum Profile: String, CaseIterable, Codable, Sendable {
        case online
        case fourG = "4g"
        case threeG = "3g"
        case flaky
        case offline

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

    package static let online = NetworkConditions()
    /// A good mobile network: 60–80 ms, 12 Mbit/s.
    package static let fourG = NetworkConditions(
        latency: .milliseconds(60), jitter: .milliseconds(20), bandwidth: 1_500_000)
    /// A slow mobile network: 300–400 ms, 1.6 Mbit/s.
    package static let threeG = NetworkConditions(
        latency: .milliseconds(300), jitter: .milliseconds(100), bandwidth: 200_000)
    /// A lift or a train: 400–800 ms, 400 kbit/s, and one chunk in ten breaks its connection.
    package static let flaky = NetworkConditions(
        latency: .milliseconds(400), jitter: .milliseconds(400), bandwidth: 50_000, lossPercent: 10)
    package static let offline = NetworkConditions(isOffline: true)
}

// MARK: - Limits

extension NetworkConditions {
    /// The same conditions with every value clamped, so that no input makes the proxy misbehave: delays to `0...10
    /// minutes`, loss to `0...100`, byte counts to at least 1 (0 for a truncation).
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
