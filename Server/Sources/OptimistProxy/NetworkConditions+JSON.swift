// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A network's conditions as the admin endpoint and the lab write them in JSON: milliseconds, bytes and percent.
///
/// When it changes conditions, nil leaves one unchanged, except that a ``profile`` first sets them all. Numbers out of
/// range are brought into it.
package struct NetworkConditionsPatch: Codable, Equatable, Sendable {
    /// Sets all conditions to those of a named network. Read: the named network that has exactly these.
    package var profile: NetworkConditions.Profile?
    /// The latency of a round trip, in milliseconds.
    package var latencyMs: Double?
    /// The most additional latency, in milliseconds.
    package var jitterMs: Double?
    /// Bytes per second; 0 is unlimited.
    package var bandwidth: Int?
    /// How likely a connection is lost, in percent.
    package var lossPercent: Double?
    /// The most bytes written at once; 0 does not slice.
    package var sliceBytes: Int?
    /// Whether nothing moves.
    package var stalled: Bool?
    /// Whether there is no network.
    package var offline: Bool?
    /// How many bytes a server answers on a connection before it is closed; -1 does not close it.
    package var truncateResponsesAfterBytes: Int?

    /// Makes a patch, by default one that changes nothing.
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

    /// All of a network's conditions. ``profile`` is there when a profile has exactly these.
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
    /// Returns these conditions with what the patch says. Values out of their range are brought into it.
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

    /// A wait from a typed number: no more than an hour, and zero if it is not a number.
    fileprivate static func milliseconds(clamping value: Double) -> Duration {
        value.isNaN ? .zero : .milliseconds(min(max(value, 0), 3_600_000))
    }
}
