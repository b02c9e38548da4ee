// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistSession

/// Decides when totals are sent.
struct SendSchedule: Sendable {
    enum Answer: Hashable, Sendable {
        case accepted
        /// It may work later.
        case failed(retryAfter: Duration?)
        /// The server takes no such report: it knows no app of this name, or it is of another version.
        case refused
    }
    enum Action: Hashable, Sendable {
        case send
        /// Waits for a change, or for so long.
        case wait(Duration?)
    }

    private var hasWork = false
    private var pause: Duration?
    private var failures = 0
    /// Nil: not known yet, and nothing is sent before it is.
    private var path: NetworkPath?
    private let backoff: Backoff
    private let allowsExpensive: Bool
    private var randomness: SplitMix64

    /// How long a server that refused is left alone.
    static let refusalPause = Duration.seconds(86_400)

    /// - Parameter path: The network. Nil: ``moved(to:)`` tells it soon.
    init(path: NetworkPath?, backoff: Backoff, allowsExpensive: Bool, randomness: SplitMix64) {
        self.path = path
        self.backoff = backoff
        self.allowsExpensive = allowsExpensive
        self.randomness = randomness
    }

    /// There is something to send, or there no longer is.
    mutating func found(work: Bool) { hasWork = work }

    /// The network is another. Coming online ends the wait after a failure, as it does for the engine.
    mutating func moved(to path: NetworkPath) {
        if self.path?.isOnline == false, path.isOnline, failures > 0 { pause = nil }
        self.path = path
    }

    mutating func answered(_ answer: Answer) {
        switch answer {
        case .accepted: (failures, pause) = (0, nil)
        case .failed(let retryAfter):
            failures += 1
            pause = max(retryAfter ?? .zero, backoff.delay(afterFailures: failures, using: &randomness))
        case .refused: pause = Self.refusalPause
        }
    }

    /// So much of the pause has passed.
    mutating func waited(_ time: Duration) { pause = pause.flatMap { $0 > time ? $0 - time : nil } }

    var next: Action {
        guard hasWork, let path, allowsExpensive || !path.isExpensive && !path.isConstrained else { return .wait(nil) }
        return pause.map { .wait($0) } ?? .send
    }
}
