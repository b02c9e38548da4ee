// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import TestForm
import Testing

@testable import OptimistSession

/// Every state reachable by a few events, and many random paths beyond.
@Suite(.timeLimit(.minutes(60)))
struct SessionMachineSearchTests {
    @Test func `T1 T2 T3 T4 T8: in every state within eight events, each waiting request has something to wait for`() {
        var frontier = [World()]
        var met: Set<String> = [World().key]
        for _ in 0..<8 {
            var next: [World] = []
            for world in frontier {
                for step in world.steps {
                    var after = world
                    after.take(step)
                    guard after.problem == nil else {
                        Issue.record("\(after.problem ?? "") after \(after.path)")
                        return
                    }
                    if met.insert(after.key).inserted { next.append(after) }
                }
            }
            frontier = next
        }
        #expect(met.count > 1_000, "\(met.count) states")
    }

    @Test func `T1 T2 T3 T4 T8: on random paths of fifty events, each waiting request has something to wait for`() {
        for seed in 1...TestForm.of(short: 500, full: 3_000, soak: 1_000_000) {
            var random = SplitMix64(seed: UInt64(seed))
            var world = World()
            for _ in 0..<50 {
                guard let step = world.steps.randomElement(using: &random) else { break }
                world.take(step)
            }
            guard let problem = world.problem else { continue }
            Issue.record("\(problem) with seed \(seed) after \(world.path)")
            return
        }
    }
}

/// A session's machine, its shell's knowledge, and the possible next steps.
private struct World {
    enum Step: Equatable {
        case ask(Int, SessionRequest.Urgency)
        case askAgain(Int, refusedWith: Stamp?)
        case pause(Int)
        case leave(Int)
        case accept(Stamp)
        case refresh(Stamp, succeeds: Bool)
        case endPause(Stamp)
        case end(Stamp)
        case restored(Bool)
        case locked
        case signIn
        case signOut
        case waitAnHour
    }

    private var machine = SessionMachine(slots: 1, backoff: Backoff(), randomness: SplitMix64(seed: 1))
    private var now = Date(timeIntervalSince1970: 1_800_000_000)
    private var refreshing: Stamp?
    private var awaited: Set<Stamp> = []
    private var isRestoring = false
    private(set) var path: [Step] = []
    private(set) var problem: String?

    // MARK: Possible steps

    var steps: [Step] {
        var steps: [Step] = [.signIn, .signOut, .waitAnHour]
        for (id, urgency) in [(1, SessionRequest.Urgency.interactive), (2, .interactive), (3, .background)] {
            guard let request = machine.requests[id] else {
                steps.append(.ask(id, urgency))
                continue
            }
            steps.append(.leave(id))
            switch request.place {
            case .queued: break
            case .sent:
                steps += [.pause(id), .askAgain(id, refusedWith: machine.stamp), .askAgain(id, refusedWith: older)]
            case .aside: steps.append(.askAgain(id, refusedWith: nil))
            }
        }
        for stamp in [machine.stamp, older] { steps += [.accept(stamp), .end(stamp)] }
        if let refreshing { steps += [.refresh(refreshing, succeeds: true), .refresh(refreshing, succeeds: false)] }
        steps.append(.refresh(older, succeeds: true))
        steps += awaited.sorted().map(Step.endPause)
        if isRestoring { steps += [.restored(true), .restored(false), .locked] }
        return steps
    }

    /// The stamp of the previous pair, or of the previous epoch.
    private var older: Stamp {
        let stamp = machine.stamp
        return stamp.generation > 1
            ? Stamp(epoch: stamp.epoch, generation: stamp.generation - 1) : Stamp(epoch: stamp.epoch - 1, generation: 1)
    }

    private var credentials: Credentials {
        var credentials = Credentials.first
        credentials.expiresAt = now + 900
        credentials.lifetime = .seconds(900)
        return credentials
    }

    // MARK: Taking a step

    mutating func take(_ step: Step) {
        path.append(step)
        let before = machine
        switch step {
        case .ask(let id, let urgency):
            handle(.arrived(id, .calls, urgency))
            handle(.wants(id, refused: nil))
        case .askAgain(let id, let stamp): handle(.wants(id, refused: stamp))
        case .pause(let id): handle(.pauses(id))
        case .leave(let id): handle(.left(id))
        case .accept(let stamp): handle(.accepted(stamp))
        case .refresh(let stamp, let succeeds):
            if stamp == refreshing { refreshing = nil }
            handle(succeeds ? .refreshed(stamp, credentials) : .refreshFailed(stamp, retryAfter: nil))
        case .endPause(let stamp):
            awaited.remove(stamp)
            handle(.pauseEnded(stamp))
        case .end(let stamp): handle(.ended(stamp, .revoked))
        case .restored(let isSignedIn):
            isRestoring = false
            handle(.restored(isSignedIn ? credentials : nil))
        case .locked:
            isRestoring = false
            handle(.locked)
        case .signIn:
            let epoch = machine.reserveEpoch()
            handle(.signedIn(epoch: epoch, credentials))
        case .signOut: handle(.signedOut)
        case .waitAnHour: now += 3600
        }
        if case .end(let stamp) = step, stamp.epoch < before.epoch, key(of: before) != key(of: machine) {
            problem = "what is late changed something"
        }
        check()
    }

    private mutating func handle(_ event: SessionMachine.Event) {
        let before = machine
        let effects = machine.handle(event, now: now)
        let ends = effects.count { if case .run(.erase) = $0 { true } else { false } }
        if case .signedOut = before.phase, ends > 0 || event.isEnd && effects.contains(.cancelRefresh) {
            problem = "what has ended ends once more"
        }
        if ends > 1 { problem = "it ends \(ends) times" }
        for effect in effects { book(effect) }
    }

    private mutating func book(_ effect: SessionMachine.Effect) {
        switch effect {
        case .grant(let id, let binding):
            if machine.requests[id]?.place != .sent { problem = "\(id) is sent without a place" }
            if binding.stamp != machine.stamp { problem = "\(id) is sent with an old token" }
        case .fail(let id, _):
            if machine.requests[id] != nil { problem = "\(id) has failed and is still there" }
        case .cancelRefresh:
            refreshing = nil
            awaited = []
        case .run(.refresh(let stamp, _)):
            if refreshing != nil { problem = "two refreshes at a time" }
            if stamp != machine.stamp { problem = "a refresh of an old token" }
            refreshing = stamp
        case .run(.wait(let stamp, _)): awaited.insert(stamp)
        case .run(.restore):
            if isRestoring { problem = "the credentials are read twice at a time" }
            isRestoring = true
        case .run: break
        }
    }

    // MARK: Invariants

    private mutating func check() {
        let queued = machine.requests.filter { $0.value.place == .queued }
        let sent = machine.requests.count { $0.value.place == .sent }
        if sent > 1 { problem = "\(sent) requests in one slot" }
        if machine.lanes[0].hasFreeSlot != (sent == 0) { problem = "a slot was lost" }
        switch machine.phase {
        case .restoring(let begun):
            if begun != isRestoring { problem = "nobody reads the credentials" }
            if !queued.isEmpty, !begun { problem = "\(queued.keys) wait for nothing" }
        case .locked, .signedOut:
            if !queued.isEmpty { problem = "\(queued.keys) wait for nobody" }
        case .signedIn(let life):
            if life.isRefreshing != (refreshing == life.stamp) { problem = "a refresh is forgotten" }
            if life.isPauseAwaited != awaited.contains(life.stamp) { problem = "a pause is forgotten" }
            if queued.isEmpty || life.isRefreshing || (life.trust == .good && sent == 1) { return }
            let isPatient = queued.values.allSatisfy { $0.urgency == .background }
            if !(isPatient && life.trust == .refused && life.isPauseAwaited) {
                problem = "\(queued.keys.sorted()) wait for nothing"
            }
        }
    }

    /// Equal for worlds with the same possible futures.
    var key: String {
        let stamps = awaited.sorted().map { "\($0.epoch - machine.epoch).\($0.generation)" }
        return "\(key(of: machine)) \(refreshing == nil) \(refreshing == machine.stamp) \(stamps) \(isRestoring)"
    }

    private func key(of machine: SessionMachine) -> String {
        let requests = machine.requests.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value.place)" }.joined()
        guard case .signedIn(let life) = machine.phase else { return "\(machine.phase) \(requests)" }
        let doubts = "\(life.isUnproven) \(min(life.failures, 2)) \(min(life.refusals, 2)) \(life.isPauseAwaited)"
        let time =
            "\(life.remainingPause(at: now) > 0) \(life.pause != nil) \(life.isDue(at: now)) \(life.hasExpired(at: now))"
        let early = "\(min(life.earlyEnds, 1)) \(life.contradictions)"
        return
            "\(life.trust) \(early) \(life.isRefreshing) \(min(life.stamp.generation, 2)) \(doubts) \(time) \(requests)"
    }
}

extension SessionMachine.Event {
    fileprivate var isEnd: Bool {
        switch self {
        case .ended, .signedOut: true
        default: false
        }
    }
}
