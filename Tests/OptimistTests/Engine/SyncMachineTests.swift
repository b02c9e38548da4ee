// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistCore
import Testing

@testable import Optimist

/// Runs a machine in virtual time. The test supplies the results of its effects.
struct MachineRun {
    typealias Event = SyncMachine.Event
    typealias Effect = SyncMachine.Effect

    var machine: SyncMachine
    var now = Duration.zero
    var timers: [SyncMachine.Timer: (due: Duration, token: Int)] = [:]
    var working: Set<SyncMachine.Lane> = []
    var remembered: [SyncMachine.Lane: SyncMachine.Wait] = [:]
    /// When each lane was tried.
    var attempts: [SyncMachine.Lane: [Duration]] = [:]
    var waits: [SyncMachine.Lane: [Duration]] = [:]
    var abandoned = 0
    var givenUp: [SyncMachine.Lane] = []
    var rowLimits: [Int] = []
    var pageLimits: [Int] = []

    init(seed: UInt64) { machine = SyncMachine(random: SplitMix64(seed: seed)) }

    mutating func handle(_ event: Event) {
        for effect in machine.handle(event, at: now) { perform(effect) }
    }

    private mutating func perform(_ effect: Effect) {
        switch effect {
        case .push(let rowLimit):
            rowLimits.append(rowLimit)
            start(.push)
        case .pull(let rowLimit):
            pageLimits.append(rowLimit)
            start(.pull)
        case .openStream: start(.stream)
        case .abandon:
            working = []
            abandoned += 1
        case .giveUp(let lane):
            working.remove(lane)
            givenUp.append(lane)
        case .wait(let timer, let wait, let token):
            timers[timer] = (now + wait, token)
            if case .lane(let lane) = timer { waits[lane, default: []].append(wait) }
        case .cancelWait(let timer): timers[timer] = nil
        case .remember(let lane, let failures, let wait, let isDemanded):
            remembered[lane] = wait.map {
                SyncMachine.Wait(failures: failures, remaining: now + $0, isDemanded: isDemanded)
            }
        case .setAside, .renewDeviceID, .reconnect, .publish: break
        }
    }

    private mutating func start(_ lane: SyncMachine.Lane) {
        #expect(!working.contains(lane), "\(lane) runs twice at once")
        working.insert(lane)
        attempts[lane, default: []].append(now)
    }

    /// Ends the work of a lane, which must be running.
    mutating func finish(
        _ lane: SyncMachine.Lane, _ event: Event, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard working.remove(lane) != nil else {
            Issue.record("\(lane) does not run", sourceLocation: sourceLocation)
            return
        }
        handle(event)
    }

    mutating func failAll(_ failure: SyncMachine.Failure = .transient) {
        while !working.isEmpty {
            if working.contains(.push) { finish(.push, .pushed(.failed(failure, rows: 1, units: 1))) }
            if working.contains(.pull) { finish(.pull, .pulled(.failed(failure))) }
            if working.contains(.stream) { finish(.stream, .streamEnded(failure)) }
        }
    }

    /// Advances to the next timer and fires it. Returns false if no timer is due by `end`.
    @discardableResult
    mutating func step(until end: Duration = .seconds(1_000_000)) -> Bool {
        guard let next = timers.min(by: { ($0.value.due, $0.value.token) < ($1.value.due, $1.value.token) }),
            next.value.due <= end
        else {
            now = end
            return false
        }
        now = max(now, next.value.due)
        timers[next.key] = nil
        handle(.waited(next.key, token: next.value.token))
        return true
    }
}

@Suite(.timeLimit(.minutes(20)))
struct SyncMachineTests {
    @Test(arguments: 1...50)
    func `S5 attempts during ten minutes of outage follow the backoff, and the next success drains the outbox`(
        seed: UInt64
    ) {
        var run = MachineRun(seed: seed)
        run.handle(.started([:]))
        repeat { run.failAll() } while run.step(until: .seconds(600))
        let pushes = run.attempts[.push] ?? []
        #expect(pushes.prefix(3).allSatisfy { $0 == .zero }, "three prompt attempts")
        for (step, wait) in (run.waits[.push] ?? []).enumerated() {
            #expect(wait >= .zero && wait <= min(.seconds(60), .milliseconds(500) * (1 << min(step, 10))))
        }
        #expect((10...120).contains(pushes.count), "\(pushes.count) attempts in ten minutes")
        #expect(run.machine.phase == .offline)

        while !run.working.contains(.push) { run.step() }
        run.finish(.push, .pushed(.sent(needsPull: false)))
        #expect(run.working.contains(.push), "more is sent at once")
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
        #expect(run.machine.phase == .idle)
        #expect(run.remembered[.push] == nil)
    }

    @Test func `Q3 device trouble of the stream is over once the stream opens`() {
        var run = MachineRun(seed: 1)
        run.handle(.started([:]))
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        run.finish(.stream, .streamEnded(.device("The database is busy.")))
        #expect(run.machine.phase == .deviceTrouble(message: "The database is busy."))
        run.handle(.streamAlive)
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.phase == .idle)
    }

    @Test func `R2 an answer that leaves deletions waiting for a page triggers a pull`() {
        for needsPull in [false, true] {
            var run = MachineRun(seed: 1)
            run.handle(.started([:]))
            run.handle(.streamAlive)
            while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
            run.finish(.push, .pushed(.sent(needsPull: needsPull)))
            #expect(run.working.contains(.pull) == needsPull)
        }
    }

    @Test func `S5 waits are random`() {
        let draws = (1...20).map { seed in
            var run = MachineRun(seed: UInt64(seed))
            run.handle(.started([:]))
            run.failAll()
            return run.waits[.push]?.first
        }
        #expect(Set(draws).count > 10)
    }

    @Test func `S5 a relaunch waits for the remaining time and does not stampede`() throws {
        var run = MachineRun(seed: 1)
        let wait = SyncMachine.Wait(failures: 9, remaining: .seconds(40), isDemanded: false)
        run.handle(.started([.push: wait, .pull: wait, .stream: wait]))
        #expect(run.attempts.isEmpty)
        run.step(until: .seconds(39))
        #expect(run.attempts.isEmpty)
        run.step()
        #expect(run.now == .seconds(40))
        #expect(!run.attempts.isEmpty)
    }

    @Test func `S5 each cause brings an attempt forward once per step`() {
        var run = MachineRun(seed: 3)
        run.handle(.started([:]))
        run.handle(.online(true))
        for _ in 0..<8 {
            run.failAll()
            run.step()
        }
        run.failAll()
        let before = run.attempts[.push]?.count ?? 0
        for _ in 0..<100 {
            run.handle(.wrote)
            run.failAll()
        }
        #expect(run.attempts[.push]?.count == before + 1)
        run.handle(.online(true))
        run.failAll()
        #expect(run.attempts[.push]?.count == before + 2)
    }

    @Test func `S5 no event overrides a Retry-After`() {
        var run = MachineRun(seed: 3)
        run.handle(.started([:]))
        run.failAll(.throttled(.seconds(30)))
        let before = run.attempts[.push]?.count ?? 0
        run.handle(.wrote)
        run.handle(.online(true))
        run.handle(.foreground)
        run.handle(.poked)
        #expect(run.attempts[.push]?.count == before)
        while run.now < .seconds(30) { run.step() }
        #expect(run.attempts[.push]?.last == .seconds(30))
    }

    @Test func `S6 the engine tries even if the monitor always reports offline`() {
        var run = MachineRun(seed: 4)
        run.handle(.online(false))
        run.handle(.started([:]))
        run.handle(.online(false))
        #expect(run.working.contains(.push))
        run.finish(.push, .pushed(.sent(needsPull: false)))
        #expect(run.machine.phase != .offline, "evidence counts more than a hint")
    }

    @Test func `S7 a failed request of a replaced session does not pause sync`() {
        var run = MachineRun(seed: 6)
        run.handle(.started([:]))
        run.handle(.signedIn)
        run.finish(.pull, .pulled(.failed(.signedOut(PauseReason(.signedOut, "Somebody else has signed in since.")))))
        #expect(run.machine.phase == .offline)
        #expect(run.working.contains(.pull))
        run.handle(.signedOut(PauseReason(.signedOut, "revoked")))
        #expect(run.machine.phase == .paused(reason: PauseReason(.signedOut, "revoked")))
    }

    @Test func `S7 the end of a session stops sync, and the next session restarts it`() {
        var run = MachineRun(seed: 5)
        run.handle(.started([:]))
        run.handle(.signedOut(PauseReason(.signedOut, "revoked")))
        #expect(run.machine.phase == .paused(reason: PauseReason(.signedOut, "revoked")))
        #expect(run.abandoned == 1)
        run.handle(.wrote)
        for _ in 0..<20 { run.step() }
        #expect(run.now > .seconds(600))
        #expect(run.working.isEmpty)
        run.handle(.signedIn)
        #expect(run.working == [.push, .pull, .stream])
    }

    @Test func `S5 a wait that the server demanded also applies to the next session`() {
        var run = MachineRun(seed: 5)
        run.handle(.started([:]))
        run.finish(.push, .pushed(.failed(.throttled(.seconds(600)), rows: 1, units: 1)))
        run.handle(.signedOut(PauseReason(.signedOut, "revoked")))
        run.handle(.signedIn)
        #expect(run.working == [.pull, .stream])
        run.handle(.wrote)
        while !run.working.contains(.push) { run.step() }
        #expect(run.now >= .seconds(600))
    }

    @Test func `S6 the watchdog and the app's return retry a request that paused sync`() {
        var run = MachineRun(seed: 5)
        run.handle(.started([:]))
        run.finish(
            .push, .pushed(.failed(.paused(PauseReason(.accountRefused, "403 of a captive portal")), rows: 1, units: 1))
        )
        #expect(run.machine.phase == .paused(reason: PauseReason(.accountRefused, "403 of a captive portal")))
        run.handle(.foreground)
        #expect(run.working == [.push, .pull, .stream])
        run.finish(.pull, .pulled(.failed(.paused(PauseReason(.accountRefused, "403")))))
        while run.working.isEmpty { run.step() }
        #expect(run.now == .seconds(60))
    }

    @Test(arguments: [
        SyncMachine.Failure.transient, .throttled(.zero), .pushRewound, .paused(PauseReason(.accountRefused, "p")),
        .protocolError("x"),
    ])
    func `S5 no failure is retried without bound at one moment`(failure: SyncMachine.Failure) {
        var run = MachineRun(seed: 6)
        run.handle(.started([:]))
        run.failAll(failure)
        #expect(run.now == .zero)
        for attempts in run.attempts.values { #expect(attempts.count <= 8, "\(failure)") }
    }

    @Test func `S5 the monitor's first report brings no attempt forward`() {
        var run = MachineRun(seed: 1)
        let wait = SyncMachine.Wait(failures: 9, remaining: .seconds(40), isDemanded: false)
        run.handle(.started([.push: wait, .pull: wait, .stream: wait]))
        run.handle(.online(true))
        #expect(run.attempts.isEmpty)
        run.handle(.online(false))
        run.handle(.online(true))
        #expect(run.working == [.push, .pull, .stream])
    }

    @Test func `S8 pulling goes on while pushes fail`() {
        var run = MachineRun(seed: 6)
        run.handle(.started([:]))
        run.finish(.push, .pushed(.failed(.throttled(.seconds(60)), rows: 1, units: 1)))
        run.finish(.pull, .pulled(.page(hasMore: true)))
        #expect(run.working.contains(.pull))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        run.handle(.poked)
        #expect(run.working.contains(.pull))
    }

    @Test func `S9 a push refused as a whole is halved down to the row at fault, which is set aside`() {
        var machine = SyncMachine(random: SplitMix64(seed: 1))
        var effects = machine.handle(.started([:]), at: .zero)
        var limits: [Int] = []
        for _ in 0..<20 {
            guard case .push(let rowLimit)? = effects.first(where: { if case .push = $0 { true } else { false } })
            else { break }
            limits.append(rowLimit)
            effects = machine.handle(
                .pushed(.failed(.refused, rows: min(rowLimit, 600), units: min(rowLimit, 600))), at: .zero)
            if effects.contains(.setAside(isRejected: false)) { break }
        }
        #expect(limits == [1000, 300, 150, 75, 37, 18, 9, 4, 2, 1])
        #expect(effects.contains(.push(rowLimit: 1)))
    }

    @Test func `S9 a protocol error is reported after one retry`() {
        var run = MachineRun(seed: 7)
        run.handle(.started([:]))
        run.finish(.push, .pushed(.failed(.protocolError("notJSON"), rows: 1, units: 1)))
        #expect(run.working.contains(.push))
        run.finish(.push, .pushed(.failed(.protocolError("notJSON"), rows: 1, units: 1)))
        #expect(run.machine.phase == .failed(message: "notJSON"))
        run.handle(.foreground)
        #expect(run.working.contains(.push))
    }

    @Test func `Q3 an engine that has not started is stopped`() {
        var run = MachineRun(seed: 13)
        run.handle(.online(true))
        #expect(run.machine.phase == .stopped)
        run.handle(.started([:]))
        #expect(run.machine.phase == .syncing)
    }

    /// S6: in any order of events, a wanted lane runs or waits, and no lane runs twice.
    @Test(arguments: 1...300)
    func `S6 Q3 pending, online and idle is impossible`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var run = MachineRun(seed: seed)
        run.handle(.started([:]))
        for _ in 0..<300 {
            let failure: SyncMachine.Failure =
                [
                    .transient, .transient, .throttled(.seconds(5)), .refused, .pushRewound,
                    .protocolError("x"),
                    .paused(PauseReason(.accountRefused, "p")), .signedOut(PauseReason(.signedOut, "s")), .noPokes,
                    .device("full"),
                    .tooLarge(isProtocolLimit: .random(using: &random)),
                ].randomElement(using: &random) ?? .transient
            switch Int.random(in: 0..<14, using: &random) {
            case 0: run.handle(.wrote)
            case 1: run.handle(.poked)
            case 2: run.handle(.online(.random(using: &random)))
            case 3: run.handle(.foreground)
            case 4: run.handle(.signedIn)
            case 5: if Bool.random(using: &random) { run.handle(.signedOut(PauseReason(.signedOut, "x"))) }
            case 6 where run.working.contains(.push): run.finish(.push, .pushed(.sent(needsPull: false)))
            case 7 where run.working.contains(.push):
                run.finish(.push, .pushed(.nothing(nextDue: Bool.random(using: &random) ? .seconds(3) : nil)))
            case 8 where run.working.contains(.push):
                run.finish(.push, .pushed(.failed(failure, rows: 9, units: .random(in: 1...9, using: &random))))
            case 9 where run.working.contains(.pull):
                run.finish(.pull, .pulled(.page(hasMore: .random(using: &random))))
            case 10 where run.working.contains(.pull): run.finish(.pull, .pulled(.failed(failure)))
            case 11 where run.working.contains(.stream): run.handle(.streamAlive)
            case 12 where run.working.contains(.stream): run.finish(.stream, .streamEnded(failure))
            case 6...12: break  // The lane is not running.
            default: run.step()
            }
            expectLiveness(run)
        }
    }

    private func expectLiveness(_ run: MachineRun) {
        switch run.machine.phase {
        case .paused, .failed: return
        default: break
        }
        for (lane, attempts) in run.machine.lanes {
            switch attempts.phase {
            case .running: #expect(run.working.contains(lane), "\(lane) counts as running and does not run")
            case .waiting: #expect(run.timers[.lane(lane)] != nil, "\(lane) waits without a timer")
            case .idle: #expect(!attempts.isWanted, "\(lane) is wanted and idle")
            }
        }
        #expect(run.timers[.watchdog] != nil)
        if !run.machine.phase.isDisconnected, !run.machine.isCaughtUp {
            #expect(
                run.machine.lanes[.pull]?.phase != .idle, "no pull asks for the changes that this device has missed")
        }
    }
}
