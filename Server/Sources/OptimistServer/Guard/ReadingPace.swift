// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore

/// Decides how long a client may still let the server wait with the bytes of its answers.
///
/// The server begins with a whole patience. The patience runs down while bytes wait, and each ``bytesPerSecond`` bytes that
/// the connection takes give a second back, up to the whole. So a client that keeps the pace stays, even if its system takes
/// the bytes in rare, large chunks. A client below the pace holds an answer for the patience and a second for each
/// ``bytesPerSecond`` bytes of the answer, and no longer.
///
/// Bytes count once the whole write that they belong to is taken, so large answers are written in pieces.
struct ReadingPace {
    /// Small receive buffers hold a client back: on loopback, a client with a buffer of 4 KB that wants 20 KB a second gets
    /// 15.
    static let bytesPerSecond: Int64 = 8_192

    private let patience: TimeAmount
    private var left: TimeAmount
    /// Since when ``left`` runs. Nil while no bytes wait.
    private var since: NIODeadline?
    private var waiting = 0

    init(patience: TimeAmount) {
        self.patience = patience
        left = patience
    }

    /// Whether any bytes wait for the client.
    var isWaiting: Bool { waiting > 0 }

    /// When the patience ends if the client takes no more bytes. Nil while no bytes wait.
    var end: NIODeadline? { since.map { $0 + left } }

    /// The server has written something. It waits until the connection takes it.
    mutating func wrote(at now: NIODeadline) {
        if waiting == 0 { since = now }
        waiting += 1
    }

    /// The connection has taken something the server wrote.
    ///
    /// - Parameter endsAnswer: Whether that was the last part of an answer. The next answer has the whole patience.
    mutating func took(_ bytes: Int, endsAnswer: Bool, at now: NIODeadline) {
        let used = since.map { now - $0 } ?? .zero
        let earned = TimeAmount.nanoseconds(Int64(bytes) * 1_000_000_000 / Self.bytesPerSecond)
        left = endsAnswer ? patience : min(patience, left - used + earned)
        waiting -= 1
        since = waiting == 0 ? nil : now
    }
}
