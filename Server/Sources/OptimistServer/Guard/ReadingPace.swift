// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore

/// Decides how long the server still waits for a client to read its answers.
///
/// The server's patience runs down while bytes wait. Each ``bytesPerSecond`` bytes that the connection accepts restore
/// one second of it, up to the full patience. A client that keeps up never loses its connection, even if its system
/// accepts bytes in rare, large chunks. A slower client can hold an answer for the patience plus one second for each
/// ``bytesPerSecond`` bytes of it.
///
/// Bytes count only when the entire write that contains them is accepted, so large answers are written in pieces.
struct ReadingPace {
    /// Small receive buffers slow a client down: on loopback, a client with a 4 KB buffer that could read 20 KB/s gets
    /// 15 KB/s.
    static let bytesPerSecond: Int64 = 8_192

    private let patience: TimeAmount
    private var left: TimeAmount
    /// When ``left`` started to run down. Nil while no bytes wait.
    private var since: NIODeadline?
    private var waiting = 0

    init(patience: TimeAmount) {
        self.patience = patience
        left = patience
    }

    var isWaiting: Bool { waiting > 0 }

    /// When the patience runs out if the client does not read more. Nil while no bytes wait.
    var end: NIODeadline? { since.map { $0 + left } }

    mutating func wrote(at now: NIODeadline) {
        if waiting == 0 { since = now }
        waiting += 1
    }

    /// - Parameter endsAnswer: Whether the bytes were the last part of an answer. The next answer starts with full
    ///   patience.
    mutating func took(_ bytes: Int, endsAnswer: Bool, at now: NIODeadline) {
        let used = since.map { now - $0 } ?? .zero
        let earned = TimeAmount.nanoseconds(Int64(bytes) * 1_000_000_000 / Self.bytesPerSecond)
        left = endsAnswer ? patience : min(patience, left - used + earned)
        waiting -= 1
        since = waiting == 0 ? nil : now
    }
}
