// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// When the engine tries one kind of request: up to three prompt attempts, then attempts after growing waits (S5).
///
/// Pure. Times are measured from the engine's start.
struct RetrySchedule: Sendable, Equatable {
    enum Phase: Sendable, Equatable {
        case idle, running
        /// The next attempt waits until this time.
        case waiting(until: Duration)
    }

    /// An event that may bring the next attempt forward. Each cause does so once per step of the backoff.
    enum Cause: Sendable, Hashable {
        case write, online, foreground, poke, success
    }

    /// A step of the backoff: its end, and whether the server demanded it.
    private struct Step: Sendable, Equatable {
        var end: Duration
        var isDemanded: Bool
    }

    /// The number of attempts before the first wait.
    static let promptAttempts = 3

    private(set) var phase = Phase.idle
    private(set) var failures = 0
    /// Whether there is work for another attempt.
    private(set) var isWanted = false
    private var step: Step?
    private var causes: Set<Cause> = []

    /// There is something to do. Returns whether to start now.
    mutating func want() -> Bool {
        isWanted = true
        return startIfIdle()
    }

    /// Something happened that makes success more likely. Returns whether to start now, before the wait ends.
    mutating func bringForward(by cause: Cause) -> Bool {
        if startIfIdle() { return true }
        guard case .waiting = phase, let step, !step.isDemanded, causes.insert(cause).inserted else { return false }
        start()
        return true
    }

    /// The wait is over. Returns whether to start now.
    mutating func waited() -> Bool {
        guard case .waiting = phase else { return false }
        phase = .idle
        return startIfIdle()
    }

    /// The attempt succeeded. Returns whether to start again because more work arrived meanwhile.
    mutating func succeeded(wantsMore: Bool = false) -> Bool {
        phase = .idle
        failures = 0
        step = nil
        causes = []
        isWanted = isWanted || wantsMore
        return startIfIdle()
    }

    /// The attempt failed. Returns how long to wait before the next one; zero means at once.
    mutating func failed(
        at now: Duration, retryAfter: Duration?, backoff: Backoff, using random: inout some RandomNumberGenerator
    ) -> Duration {
        isWanted = true
        let wait = nextWait(at: now, retryAfter: retryAfter, backoff: backoff, using: &random)
        if wait == .zero { start() } else { phase = .waiting(until: now + wait) }
        return wait
    }

    /// Resumes a wait from an earlier launch.
    mutating func resume(failures: Int, until due: Duration, isDemanded: Bool) {
        self.failures = failures
        step = Step(end: due, isDemanded: isDemanded)
        phase = .waiting(until: due)
        isWanted = true
    }

    /// The connection was established, so its end is a new problem and does not add to the earlier failures.
    mutating func forgetFailures() {
        failures = 0
        step = nil
        causes = []
    }

    /// Whether the server demanded the current wait.
    var isDemanded: Bool { step?.isDemanded ?? false }

    /// The rest of a wait that the server demanded, even if the waiting attempt was given up. Nil: no such wait.
    func demandedWait(at now: Duration) -> SyncMachine.Wait? {
        guard let step, step.isDemanded, step.end > now else { return nil }
        return SyncMachine.Wait(failures: failures, remaining: step.end - now, isDemanded: true)
    }

    /// Gives up the running or waiting attempt. The work stays wanted.
    mutating func stop() {
        phase = .idle
        isWanted = true
    }

    private mutating func nextWait(
        at now: Duration, retryAfter: Duration?, backoff: Backoff, using random: inout some RandomNumberGenerator
    ) -> Duration {
        if let retryAfter {
            failures += 1
            let least = backoff.delay(afterFailures: failures, using: &random)
            return begin(now, max(min(retryAfter, ServerDemand.ofRequests), least), isDemanded: true)
        }
        if let step, now < step.end { return step.end - now }
        failures += 1
        guard failures >= Self.promptAttempts else { return .zero }
        return begin(
            now, backoff.delay(afterFailures: failures - Self.promptAttempts + 1, using: &random), isDemanded: false)
    }

    private mutating func begin(_ now: Duration, _ wait: Duration, isDemanded: Bool) -> Duration {
        step = Step(end: now + wait, isDemanded: isDemanded)
        causes = []
        return wait
    }

    private mutating func startIfIdle() -> Bool {
        guard phase == .idle, isWanted else { return false }
        start()
        return true
    }

    private mutating func start() {
        phase = .running
        isWanted = false
    }
}
