// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Network conditions in the JSON of the admin endpoint and the lab, in milliseconds, bytes and percent.
///
/// In a change, nil leaves a condition unchanged, except that a ``profile`` first sets all of them. Numbers are clamped
/// to their ranges.
package struct NetworkConditionsPatch: Codable, Equatable, Sendable {
    /// In a change, applies a named network's conditions. In an answer, the named network with exactly these
    /// conditions.
    package var profile: NetworkConditions.Profile?
    /// Milliseconds per round trip.
    package var latencyMs: Double?
    /// Milliseconds.
    package var jitterMs: Double?
    /// Bytes per second. 0 is unlimited.
    package var bandwidth: Int?
    package var lossPercent: Double?
    /// 0 does not slice.
    package var sliceBytes: Int?
    package var stalled: Bool?
    package var offline: Bool?
    /// -1 never closes the connection.
    package var truncateResponsesAfterBytes: Int?

    package init(
        profile: NetworkConditions.Profile? = nil, latencyMs: Double? = nil, jitterMs: Double? = nil,
        bandwidth: Int? = nil, lossPercent: Double? = nil, sliceBytes: Int? = nil, stalled: Bool? = nil,
        offline: Bool? = nil, truncateResponsesAfterBytes: Int? = nil
    ) {
        self.profile = profile
        self.latencyMs = latencyMs
        self.jitterMs = jitterMs
        self.bandwidth = bandwidth
        self.lossPercent = lossPercent
        self.sliceBytes = sliceBytes
        self.stalled = stalled
        self.offline = offline
        self.truncateResponsesAfterBytes = truncateResponsesAfterBytes
    }

    /// All conditions of a network, and the ``profile`` with exactly these, if any.
    package init(_ conditions: NetworkConditions) {
        self.init(
            profile: NetworkConditions.Profile.allCases.first { $0.conditions == conditions },
            latencyMs: conditions.latency.milliseconds,
            jitterMs: conditions.jitter.milliseconds,
            bandwidth: conditions.bandwidth ?? 0,
            lossPercent: conditions.lossPercent,
            sliceBytes: conditions.sliceBytes ?? 0,
            stalled: conditions.isStalled,
            offline: conditions.isOffline,
            truncateResponsesAfterBytes: conditions.truncateResponsesAfterBytes ?? -1)
    }
}

extension NetworkConditions {
    package func applying(_ patch: NetworkConditionsPatch) -> NetworkConditions {
        var result = patch.profile?.conditions ?? self
        if let latency = patch.latencyMs { result.latency = .milliseconds(clamping: latency) }
        if let jitter = patch.jitterMs { result.jitter = .milliseconds(clamping: jitter) }
        if let bandwidth = patch.bandwidth { result.bandwidth = bandwidth > 0 ? bandwidth : nil }
        if let loss = patch.lossPercent { result.lossPercent = loss }
        if let slice = patch.sliceBytes { result.sliceBytes = slice > 0 ? slice : nil }
        if let stalled = patch.stalled { result.isStalled = stalled }
        if let offline = patch.offline { result.isOffline = offline }
        if let limit = patch.truncateResponsesAfterBytes {
            result.truncateResponsesAfterBytes = limit >= 0 ? limit : nil
        }
        return result.bounded
    }
}

extension Duration {
    fileprivate var milliseconds: Double { self / .milliseconds(1) }

    /// A duration from a number of milliseconds: at most an hour, and zero for NaN.
    fileprivate static func milliseconds(clamping value: Double) -> Duration {
        value.isNaN ? .zero : .milliseconds(min(max(value, 0), 3_600_000))
    }
}
