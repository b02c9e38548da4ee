// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistSession

/// Decides when totals are sent.
struct SendSchedule: Sendable {
    enum Answer: Hashable, Sendable {
        case accepted
        case failed(retryAfter: Duration?)
        /// The server does not accept the report: it does not know the app, or has another version.
        case refused
    }
    enum Action: Hashable, Sendable {
        case send
        /// Wait for a change, or at most this long.
        case wait(Duration?)
    }

    private var hasWork = false
    private var pause: Duration?
    private var failures = 0
    /// Nil until the network is known. Until then, nothing is sent.
    private var path: NetworkPath?
    private let backoff: Backoff
    private let allowsExpensive: Bool
    private var randomness: SplitMix64

    static let refusalPause = Duration.seconds(86_400)

    /// - Parameter path: The network. Nil: unknown until ``moved(to:)``.
    init(path: NetworkPath?, backoff: Backoff, allowsExpensive: Bool, randomness: SplitMix64) {
        self.path = path
        self.backoff = backoff
        self.allowsExpensive = allowsExpensive
        self.randomness = randomness
    }

    mutating func found(work: Bool) { hasWork = work }

    /// The network has changed. Coming online ends the pause after a failure, as in the sync engine.
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

    mutating func waited(_ time: Duration) { pause = pause.flatMap { $0 > time ? $0 - time : nil } }

    var next: Action {
        guard hasWork, let path, allowsExpensive || !path.isExpensive && !path.isConstrained else { return .wait(nil) }
        return pause.map { .wait($0) } ?? .send
    }
}
