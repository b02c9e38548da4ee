// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import OptimistCore

/// The simulated link of one direction of one connection: decides whether and when each byte arrives. A plain value
/// without sockets or timers.
struct Link {
    enum Direction { case request, response }

    struct Piece: Equatable {
        var byteCount: Int
        var due: NIODeadline
    }

    enum Fate: Equatable {
        /// Write these pieces in order, each when it is due. They cover the chunk from its first byte.
        case deliver([Piece])
        /// Write these pieces, which cover the start of the chunk, then close. The rest is cut off.
        case deliverAndClose([Piece])
        case lose
    }

    private let direction: Direction
    private var random: SplitMix64
    /// When the link finishes sending its last byte, according to the bandwidth.
    private var busyUntil = NIODeadline.uptimeNanoseconds(0)
    /// When the last piece arrives. Later pieces do not arrive before it.
    private var lastDue = NIODeadline.uptimeNanoseconds(0)
    private var carriedBytes = 0

    init(direction: Direction, seed: UInt64) {
        self.direction = direction
        random = SplitMix64(seed: seed)
    }

    mutating func carry(byteCount: Int, now: NIODeadline, under conditions: NetworkConditions) -> Fate {
        if random.draws(percent: conditions.lossPercent) { return .lose }
        let allowance = allowance(under: conditions)
        let carried = min(byteCount, allowance)
        carriedBytes += carried
        let pieces = slice(carried, now: now, delay: delay(under: conditions), under: conditions)
        return carried == allowance ? .deliverAndClose(pieces) : .deliver(pieces)
    }

    /// When the end of the stream arrives, if the sender closes now.
    mutating func end(now: NIODeadline, under conditions: NetworkConditions) -> NIODeadline {
        lastDue = max(lastDue, now + delay(under: conditions))
        return lastDue
    }

    private func allowance(under conditions: NetworkConditions) -> Int {
        guard direction == .response, let limit = conditions.truncateResponsesAfterBytes else { return .max }
        return max(limit - carriedBytes, 0)
    }

    private mutating func slice(
        _ byteCount: Int, now: NIODeadline, delay: TimeAmount, under conditions: NetworkConditions
    ) -> [Piece] {
        let most = conditions.sliceBytes ?? byteCount
        return stride(from: 0, to: byteCount, by: max(most, 1)).map { start in
            let count = min(most, byteCount - start)
            busyUntil = max(busyUntil, now) + transmission(of: count, under: conditions)
            lastDue = max(lastDue, busyUntil + delay)
            return Piece(byteCount: count, due: lastDue)
        }
    }

    private func transmission(of byteCount: Int, under conditions: NetworkConditions) -> TimeAmount {
        guard let bandwidth = conditions.bandwidth else { return .zero }
        return .nanoseconds(Int64(Double(byteCount) / Double(bandwidth) * 1e9))
    }

    private mutating func delay(under conditions: NetworkConditions) -> TimeAmount {
        let jitter = conditions.jitter > .zero ? conditions.jitter * random.fraction() : .zero
        return TimeAmount((conditions.latency + jitter) / 2)
    }
}

extension SplitMix64 {
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns true with this probability. At 0 it draws nothing, so that an unused fault does not affect the draws of
    /// other faults.
    mutating func draws(percent: Double) -> Bool { percent > 0 && fraction() * 100 < percent }
}
