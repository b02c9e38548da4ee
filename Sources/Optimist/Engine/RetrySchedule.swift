// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// When one lane makes its attempts: up to three prompt attempts, then more after growing waits (S5). Pure. Times are
/// measured from the engine's start.
struct RetrySchedule: Sendable, Equatable {
    enum Phase: Sendable, Equatable {
        case idle, running
        case waiting(until: Duration)
    }

    /// An event that may start the next attempt early. Each cause can do so only once per step of the backoff.
    enum Cause: Sendable, Hashable {
        case write, online, foreground, poke, success
    }

    private struct Step: Sendable, Equatable {
        var end: Duration
        var isDemanded: Bool
    }

    static let promptAttempts = 3

    private(set) var phase = Phase.idle
    private(set) var failures = 0
    private(set) var isWanted = false
    private var step: Step?
    private var causes: Set<Cause> = []

    /// Returns whether to start now.
    mutating func want() -> Bool {
        isWanted = true
        return startIfIdle()
    }

    /// Ends a wait early, because success has become more likely. Returns whether to start now.
    mutating func bringForward(by cause: Cause) -> Bool {
        if startIfIdle() { return true }
        guard case .waiting = phase, let step, !step.isDemanded, causes.insert(cause).inserted else { return false }
        start()
        return true
    }

    /// Returns whether to start now.
    mutating func waited() -> Bool {
        guard case .waiting = phase else { return false }
        phase = .idle
        return startIfIdle()
    }

    /// Returns whether to start again, because more work has arrived.
    mutating func succeeded(wantsMore: Bool = false) -> Bool {
        phase = .idle
        failures = 0
        step = nil
        causes = []
        isWanted = isWanted || wantsMore
        return startIfIdle()
    }

    /// Returns how long to wait before the next attempt. Zero: the next attempt has started.
    mutating func failed(
        at now: Duration, retryAfter: Duration?, backoff: Backoff, using random: inout some RandomNumberGenerator
    ) -> Duration {
        isWanted = true
        let wait = nextWait(at: now, retryAfter: retryAfter, backoff: backoff, using: &random)
        if wait == .zero { start() } else { phase = .waiting(until: now + wait) }
        return wait
    }

    mutating func resume(failures: Int, until due: Duration, isDemanded: Bool) {
        self.failures = failures
        step = Step(end: due, isDemanded: isDemanded)
        phase = .waiting(until: due)
        isWanted = true
    }

    /// Forgets earlier failures after a connection was established, because the end of that connection is a new
    /// problem.
    mutating func forgetFailures() {
        failures = 0
        step = nil
        causes = []
    }

    var isDemanded: Bool { step?.isDemanded ?? false }

    /// The rest of a wait that the server demanded, even after ``stop()``. Nil if the server demands no wait.
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
