// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import Optimist
@testable import OptimistCore

/// The attempts of one kind of request, without an engine or a clock.
@Suite(.timeLimit(.minutes(20)))
struct RetryScheduleTests {
    private final class Run {
        private(set) var attempts = RetrySchedule()
        var now = Duration.zero
        let backoff: Backoff
        private var random: SplitMix64

        init(seed: UInt64 = 1, backoff: Backoff = Backoff()) {
            random = SplitMix64(seed: seed)
            self.backoff = backoff
        }

        func want() -> Bool { attempts.want() }
        func bringForward(by cause: RetrySchedule.Cause) -> Bool { attempts.bringForward(by: cause) }
        func waited() -> Bool { attempts.waited() }
        func succeed(wantsMore: Bool = false) -> Bool { attempts.succeeded(wantsMore: wantsMore) }
        func stop() { attempts.stop() }
        func forgetFailures() { attempts.forgetFailures() }

        func fail(retryAfter: Duration? = nil) -> Duration {
            attempts.failed(at: now, retryAfter: retryAfter, backoff: backoff, using: &random)
        }

        func resume(failures: Int, until due: Duration, isDemanded: Bool) {
            attempts.resume(failures: failures, until: due, isDemanded: isDemanded)
        }

        /// Starts an attempt and fails until the schedule waits.
        func failUntilWait() -> Duration {
            #expect(want())
            return (1...RetrySchedule.promptAttempts).map { _ in fail() }.last ?? .zero
        }

        /// Returns whether the end of the wait starts an attempt.
        func waitUntilEnd() -> Bool {
            if case .waiting(let until) = attempts.phase { now = until }
            return waited()
        }
    }

    private static let causes: [RetrySchedule.Cause] = [.write, .online, .foreground, .poke, .success]

    @Test func `S5 the first three attempts are immediate, and later ones wait within growing limits`() {
        let run = Run()
        #expect(run.want())
        #expect(run.fail() == .zero)
        #expect(run.fail() == .zero)
        #expect(run.attempts.phase == .running, "the third attempt is under way")
        for step in 1...20 {
            let wait = run.fail()
            #expect(wait > .zero && wait <= run.backoff.limit(afterFailures: step))
            #expect(run.attempts.phase == .waiting(until: run.now + wait))
            #expect(run.attempts.failures == step + 2)
            #expect(run.waitUntilEnd())
        }
    }

    @Test(arguments: [1, 4, 8, 30])
    func `S5 each wait has full jitter: every length up to the limit is equally likely`(step: Int) {
        let limit = Backoff().limit(afterFailures: step)
        let shares = (1...2_000).map { seed in
            let run = Run(seed: UInt64(seed))
            var wait = run.failUntilWait()
            for _ in 1..<step {
                #expect(run.waitUntilEnd())
                wait = run.fail()
            }
            return wait / limit
        }
        #expect(shares.allSatisfy { (0...1).contains($0) })
        for tenth in 0..<10 {
            let count = shares.count { Int(min($0, 0.999) * 10) == tenth }
            #expect((140...260).contains(count), "\(count) of 2,000 waits lie in tenth \(tenth)")
        }
    }

    @Test(arguments: [
        (Duration.seconds(1_800), Duration.seconds(1_800)), (.seconds(3_600), .seconds(3_600)),
        (.seconds(3_601), .seconds(3_600)), (.seconds(Int64.max), .seconds(3_600)),
    ])
    func `S5 a Retry-After is honoured up to an hour, even after the first failure`(
        asked: Duration, wait: Duration
    ) {
        let run = Run()
        #expect(run.want())
        #expect(run.fail(retryAfter: asked) == wait)
        #expect(run.attempts.isDemanded)
        #expect(run.attempts.demandedWait(at: run.now)?.remaining == wait)
    }

    @Test(arguments: [Duration.zero, .seconds(-5), .seconds(Int64.min)])
    func `S5 a Retry-After of zero or less still waits for the backoff`(asked: Duration) {
        for seed in 1...50 as ClosedRange<UInt64> {
            let run = Run(seed: seed)
            #expect(run.want())
            let wait = run.fail(retryAfter: asked)
            #expect(wait > .zero && wait <= run.backoff.limit(afterFailures: 1))
        }
    }

    @Test func `S5 each cause brings forward one attempt per step, and then the wait continues`() {
        let run = Run(backoff: Backoff(base: .seconds(40)))
        let wait = run.failUntilWait()
        run.now += wait / 2
        for cause in Self.causes {
            #expect(run.bringForward(by: cause))
            #expect(run.attempts.phase == .running)
            let rest = run.fail()
            #expect(rest == wait - wait / 2, "the wait is the rest of the step, not a new step")
            #expect(!run.bringForward(by: cause), "a cause works once in a step")
        }
        #expect(
            run.attempts.failures == RetrySchedule.promptAttempts,
            "attempts within a step do not count as further failures")
        #expect(run.waitUntilEnd())
        _ = run.fail()
        for cause in Self.causes {
            #expect(run.bringForward(by: cause), "the next step begins")
            _ = run.fail()
        }
    }

    @Test func `S5 no cause shortens a wait that the server demanded`() {
        let run = Run()
        #expect(run.want())
        _ = run.fail(retryAfter: .seconds(30))
        for cause in Self.causes { #expect(!run.bringForward(by: cause)) }
        #expect(!run.want())
        #expect(run.attempts.phase == .waiting(until: .seconds(30)))
        #expect(run.waitUntilEnd())
    }

    @Test func `a request during an attempt starts another attempt afterwards`() {
        let run = Run()
        #expect(!run.bringForward(by: .write), "no work waits for an attempt")
        #expect(run.want())
        #expect(!run.want(), "one attempt runs at a time")
        #expect(run.succeed())
        #expect(run.attempts.phase == .running)
        #expect(!run.succeed())
        #expect(run.attempts.phase == .idle)
        #expect(run.want())
        #expect(run.succeed(wantsMore: true))
    }

    @Test func `the end of a wait starts one attempt`() {
        let run = Run()
        #expect(!run.waited(), "the schedule does not wait")
        _ = run.failUntilWait()
        #expect(run.waitUntilEnd())
        #expect(!run.waited(), "the attempt is under way")
    }

    @Test func `after a success, the next failures get three prompt attempts again`() {
        let run = Run()
        _ = run.failUntilWait()
        #expect(run.waitUntilEnd())
        _ = run.succeed()
        #expect(run.attempts.failures == 0)
        #expect(run.attempts.demandedWait(at: run.now) == nil)
        let wait = run.failUntilWait()
        #expect(wait > .zero && wait <= run.backoff.limit(afterFailures: 1))
    }

    @Test func `a lane that forgets its failures gets prompt attempts again`() {
        let run = Run()
        _ = run.failUntilWait()
        #expect(run.waitUntilEnd())
        run.forgetFailures()
        #expect(run.fail() == .zero)
        #expect(run.attempts.failures == 1)
    }

    @Test func `an abandoned attempt is still wanted, and a demanded wait still applies`() {
        let run = Run()
        #expect(run.want())
        _ = run.fail(retryAfter: .seconds(30))
        run.stop()
        #expect(run.attempts.phase == .idle)
        let rest = run.attempts.demandedWait(at: .seconds(10))
        #expect(rest == SyncMachine.Wait(failures: 1, remaining: .seconds(20), isDemanded: true))
        #expect(run.attempts.demandedWait(at: .seconds(30)) == nil)
        #expect(run.bringForward(by: .online), "the attempt is still wanted")
    }

    @Test(arguments: [false, true])
    func `S5 a wait continues after a relaunch, and only a demanded one cannot be shortened`(isDemanded: Bool) {
        let run = Run()
        run.resume(failures: 5, until: .seconds(20), isDemanded: isDemanded)
        #expect(run.attempts.phase == .waiting(until: .seconds(20)))
        #expect(!run.want())
        #expect(run.bringForward(by: .foreground) != isDemanded)
        if isDemanded { #expect(run.waitUntilEnd()) } else { run.now = .seconds(20) }
        let wait = run.fail()
        #expect(wait <= run.backoff.limit(afterFailures: 4), "this is the sixth failure")
        #expect(run.attempts.failures == 6)
    }

    @Test(arguments: 1...100)
    func `S5 under random events one attempt runs at a time, waits end, and no work is forgotten`(seed: UInt64) {
        let run = Run(seed: seed)
        var random = SplitMix64(seed: seed &+ 1_000)
        var isRunning = false
        /// Whether work waits for an attempt.
        var isWanted = false
        var (end, startsInStep) = (Duration.zero, 0)
        for _ in 0..<400 {
            var starts = false
            run.now += .milliseconds(Int.random(in: 0...400, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                isWanted = true
                starts = run.want()
            case 2, 3:
                starts = run.bringForward(by: Self.causes[Int.random(in: 0..<5, using: &random)])
                if starts { startsInStep += 1 }
                #expect(startsInStep <= Self.causes.count, "each cause works once in a step")
            case 4 where isRunning:
                let wantsMore = Bool.random(using: &random)
                (isRunning, isWanted) = (false, isWanted || wantsMore)
                starts = run.succeed(wantsMore: wantsMore)
            case 5 where isRunning, 6 where isRunning:
                let isAsked = Int.random(in: 0..<4, using: &random) == 0
                let wait = run.fail(retryAfter: isAsked ? .seconds(Int.random(in: -5...9_000, using: &random)) : nil)
                #expect(wait >= .zero && wait <= .seconds(3_600))
                if run.now + wait != end { (end, startsInStep) = (run.now + wait, 0) }
                (isRunning, isWanted, starts) = (false, true, wait == .zero)
                #expect(starts || run.attempts.phase == .waiting(until: end))
            default:
                guard case .waiting(let until) = run.attempts.phase, Bool.random(using: &random) else { continue }
                run.now = max(run.now, until)
                starts = run.waited()
                #expect(starts, "a wait ended without wanted work")
            }
            #expect(!(starts && isRunning), "two attempts run at once")
            if starts { (isRunning, isWanted) = (true, false) }
            #expect(isRunning == (run.attempts.phase == .running))
            #expect(!isWanted || run.attempts.phase != .idle)
        }
    }
}
