// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@testable import OptimistSession

@Suite(.timeLimit(.minutes(20)))
struct SessionMachineTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func machine(slots: Int = 2, signedIn: Bool = true) -> SessionMachine {
        var machine = SessionMachine(slots: slots, backoff: Backoff(), randomness: SplitMix64(seed: 1))
        _ = machine.handle(.restore, now: now)
        _ = machine.handle(.restored(signedIn ? .first : nil), now: now)
        return machine
    }

    /// Lets requests arrive and ask to be sent.
    private func enter(_ ids: ClosedRange<Int>, _ machine: inout SessionMachine) -> [SessionMachine.Effect] {
        ids.flatMap { id in
            machine.handle(.arrived(id, .calls, .interactive), now: now)
                + machine.handle(.wants(id, refused: nil), now: now)
        }
    }

    @Test func `slots are granted in order of arrival, and a freed slot goes to the next request that still waits`() {
        var machine = machine(slots: 1)
        let granted = enter(1...3, &machine) + machine.handle(.left(2), now: now) + machine.handle(.left(1), now: now)
        #expect(granted.map(\.grantedID) == [1, 3])
    }

    @Test func `T1: while a refused token is renewed, no request gets a slot`() {
        var machine = machine()
        let old = machine.stamp
        _ = enter(1...3, &machine)
        let effects = machine.handle(.wants(1, refused: old), now: now)
        #expect(effects == [.run(.refresh(old, .first))])
        #expect(machine.handle(.wants(2, refused: old), now: now).isEmpty)
        #expect(machine.handle(.refreshed(old, .first), now: now).compactMap(\.grantedID) == [3, 1])
    }

    @Test func `T3: a session ends once, and late events change nothing`() {
        var machine = machine()
        let stamp = machine.stamp
        _ = enter(1...3, &machine)
        _ = machine.handle(.wants(1, refused: stamp), now: now)
        let effects = machine.handle(.ended(stamp, .revoked), now: now)
        #expect(effects.compactMap(\.failedID) == [1, 2, 3])
        #expect(effects.contains(.run(.erase(.first, upTo: stamp.epoch))))
        let late: [SessionMachine.Event] = [
            .ended(stamp, .refreshExpired), .refreshed(stamp, .first), .refreshFailed(stamp, retryAfter: nil),
            .accepted(stamp), .left(1), .restored(.first), .locked,
        ]
        for event in late { #expect(machine.handle(event, now: now).isEmpty) }
        #expect(machine.state == .signedOut(.revoked))
    }

    @Test
    func `T11: entering with the current refresh token does not revoke it; entering with another revokes the old one`()
    {
        var machine = machine()
        let again = machine.handle(.signedIn(epoch: machine.reserveEpoch(), .first), now: now)
        #expect(!again.contains(.run(.revoke(.first))))
        let other = Credentials(
            accessToken: Secret("access-9"), refreshToken: Secret("refresh-9"), expiresAt: nil, lifetime: nil,
            account: Credentials.first.account, origin: Credentials.first.origin)
        let replaced = machine.handle(.signedIn(epoch: machine.reserveEpoch(), other), now: now)
        #expect(replaced.contains(.run(.revoke(.first))))
    }

    @Test func `T4: a pause between refreshes ends if the clock is set back, not a year later`() {
        var machine = machine()
        let stamp = machine.stamp
        _ = enter(1...1, &machine)
        _ = machine.handle(.wants(1, refused: stamp), now: now)
        _ = machine.handle(.refreshFailed(stamp, retryAfter: .seconds(7)), now: now)
        _ = machine.handle(.arrived(2, .calls, .interactive), now: now + 6)
        #expect(machine.handle(.wants(2, refused: nil), now: now + 6).compactMap(\.failedID) == [2])
        _ = machine.handle(.arrived(3, .calls, .interactive), now: now - 31_536_000)
        #expect(machine.handle(.wants(3, refused: nil), now: now - 31_536_000) == [.run(.refresh(stamp, .first))])
    }

    @Test func `T4: if a new token expired unused and is then refused, the request waits for the next token`() {
        var machine = machine()
        _ = enter(1...1, &machine)
        _ = machine.handle(.wants(1, refused: machine.stamp), now: now)
        var second = Credentials.first
        second.expiresAt = now + 900
        _ = machine.handle(.refreshed(machine.stamp, second), now: now)
        _ = machine.handle(.left(1), now: now)
        _ = machine.handle(.arrived(2, .calls, .background), now: now + 901)
        _ = machine.handle(.wants(2, refused: nil), now: now + 901)
        // Without a network, the token is tried although it should have expired.
        let tried = machine.handle(.refreshFailed(machine.stamp, retryAfter: .seconds(5)), now: now + 901)
        #expect(tried.compactMap(\.grantedID) == [2])
        let refused = machine.handle(.wants(2, refused: machine.stamp), now: now + 902)
        #expect(refused.compactMap(\.failedID).isEmpty)
        let renewed = machine.handle(.pauseEnded(machine.stamp), now: now + 907)
        #expect(renewed.contains(.run(.refresh(machine.stamp, second))))
    }

    @Test func `a locked keychain is read again at the next request`() {
        var machine = SessionMachine(slots: 1, backoff: Backoff(), randomness: SplitMix64(seed: 1))
        #expect(enter(1...1, &machine) == [.run(.restore)])
        #expect(machine.handle(.locked, now: now) == [.fail(1, .locked)])
        #expect(machine.state == .locked)
        #expect(enter(2...2, &machine) == [.run(.restore)])
        #expect(machine.handle(.restored(.first), now: now).compactMap(\.grantedID) == [2])
    }

    @Test func `if the keychain proves to be locked while a request arrives, the request fails as locked`() {
        var machine = SessionMachine(slots: 1, backoff: Backoff(), randomness: SplitMix64(seed: 1))
        _ = machine.handle(.restore, now: now)
        _ = machine.handle(.arrived(1, .calls, .interactive), now: now)
        _ = machine.handle(.locked, now: now)
        #expect(machine.handle(.wants(1, refused: nil), now: now) == [.fail(1, .locked)])
    }

    @Test func `of two sign-ins the later one wins, in either order of their answers`() {
        for order in [[1, 2], [2, 1]] {
            var machine = machine(signedIn: false)
            let epochs = [machine.reserveEpoch(), machine.reserveEpoch()]
            for index in order { _ = machine.handle(.signedIn(epoch: epochs[index - 1], .first), now: now) }
            #expect(machine.stamp.epoch == epochs[1])
        }
    }

    @Test func `an end ordered by the server does not cancel a sign-in in progress, but the user's sign-out does`() {
        var machine = machine()
        let entering = [machine.reserveEpoch(), machine.reserveEpoch()]
        _ = machine.handle(.ended(machine.stamp, .signedInElsewhere), now: now)
        #expect(machine.state == .signedOut(.signedInElsewhere))
        _ = machine.handle(.signedIn(epoch: entering[0], .first), now: now)
        #expect(machine.stamp.epoch == entering[0])
        _ = machine.handle(.signedOut, now: now)
        _ = machine.handle(.signedIn(epoch: entering[1], .first), now: now)
        #expect(machine.state == .signedOut(.signedOut))
    }

    @Test func `T5: the session refreshes 60 s before expiry, or a tenth of a short lifetime`() {
        for (lifetime, ahead) in [(900.0, 60.0), (120, 12)] {
            var credentials = Credentials.first
            credentials.lifetime = .seconds(lifetime)
            credentials.expiresAt = now + lifetime
            let life = TokenLife(credentials: credentials, stamp: Stamp(epoch: 0, generation: 1))
            #expect(!life.isDue(at: now + lifetime - ahead - 1))
            #expect(life.isDue(at: now + lifetime - ahead))
        }
    }

    @Test func `T5: stored credentials that have expired are renewed before the first request`() {
        var ended = Credentials.first
        ended.expiresAt = now - 1
        var machine = SessionMachine(slots: 2, backoff: Backoff(), randomness: SplitMix64(seed: 1))
        #expect(enter(1...1, &machine) == [.run(.restore)])
        let stamp = Stamp(epoch: 0, generation: 1)
        #expect(machine.handle(.restored(ended), now: now) == [.run(.refresh(stamp, ended))])
        #expect(machine.handle(.refreshed(stamp, .first), now: now).compactMap(\.grantedID) == [1])
    }

    @Test func `T2: an address that always refuses costs ever fewer refreshes, even while other addresses succeed`() {
        var machine = machine()
        var (refreshes, id) = (0, 0)
        for step in 0..<100 {
            let time = now + Double(step) / 10
            id += 2
            for request in [id, id + 1] { _ = machine.handle(.arrived(request, .calls, .interactive), now: time) }
            _ = machine.handle(.wants(id, refused: nil), now: time)
            let effects = machine.handle(.wants(id, refused: machine.stamp), now: time)
            if effects.contains(where: \.isRefresh) {
                refreshes += 1
                _ = machine.handle(.refreshed(machine.stamp, .first), now: time)
            }
            _ = machine.handle(.wants(id + 1, refused: nil), now: time)
            _ = machine.handle(.accepted(machine.stamp), now: time)
            for request in [id, id + 1] { _ = machine.handle(.left(request), now: time) }
        }
        // The machine refreshes after 0, 1, 3 and 7 seconds.
        #expect((3...5).contains(refreshes))
    }

    @Test func `T2: tokens that are expired on arrival are used anyway, and renewed at most once a second`() {
        var machine = machine()
        var ended = Credentials.first
        ended.expiresAt = now
        var refreshes = 0
        for step in 0..<100 {
            let time = now + Double(step) / 10
            _ = machine.handle(.arrived(step, .calls, .interactive), now: time)
            var effects = machine.handle(.wants(step, refused: step == 0 ? machine.stamp : nil), now: time)
            if effects.contains(where: \.isRefresh) {
                refreshes += 1
                effects += machine.handle(.refreshed(machine.stamp, ended), now: time)
            }
            #expect(effects.compactMap(\.grantedID) == [step])
            _ = machine.handle(.accepted(machine.stamp), now: time)
            _ = machine.handle(.left(step), now: time)
        }
        #expect((5...10).contains(refreshes))
    }

    /// Any events in any order, including late and duplicate answers.
    @Test(arguments: 1...300)
    func `T1 T3 T8: no order of events breaks the machine's promises`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var machine = machine(slots: 3)
        var model = Model()
        var time = now
        for _ in 0..<400 {
            time += Double.random(in: 0...0.3, using: &random)
            let event = model.anyEvent(machine: &machine, using: &random)
            let before = machine.state
            let effects = machine.handle(event, now: time)
            model.book(event, effects, before: before, after: machine.state, slots: 3)
        }
        // At the end the server recovers, and every waiting request is served.
        time += 3600
        for stamp in model.refreshing { model.book(machine.handle(.refreshed(stamp, .first), now: time)) }
        if case .signedOut = machine.state {
            #expect(model.waiting.isEmpty && model.sent.isEmpty)
            return
        }
        for _ in 0..<3 {
            for stamp in model.refreshing { model.book(machine.handle(.refreshed(stamp, .first), now: time)) }
            for id in model.sent.sorted() {
                model.sent.remove(id)
                model.book(machine.handle(.left(id), now: time))
            }
            if let id = model.waiting.min() { model.book(machine.handle(.wants(id, refused: nil), now: time)) }
        }
        while let id = model.sent.min() {
            model.sent.remove(id)
            model.book(machine.handle(.left(id), now: time))
        }
        #expect(model.waiting.isEmpty)
    }

    /// The shell's knowledge.
    private struct Model {
        var lastID = 0
        var waiting: Set<Int> = []
        var sent: Set<Int> = []
        var refreshing: [Stamp] = []
        var stamps: [Stamp] = []
        var epochs: [Int] = []

        mutating func anyEvent(
            machine: inout SessionMachine, using random: inout SplitMix64
        ) -> SessionMachine.Event {
            stamps.append(machine.stamp)
            let stamp = stamps.suffix(6).randomElement(using: &random) ?? machine.stamp
            let sent = sent.sorted().randomElement(using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<40:
                lastID += 1
                _ = machine.handle(.arrived(lastID, .calls, .interactive), now: .distantPast)
                return .wants(lastID, refused: nil)
            case 40..<60: return .left(sent ?? waiting.sorted().randomElement(using: &random) ?? 0)
            case 60..<70: return sent.map { .wants($0, refused: stamp) } ?? .accepted(stamp)
            case 70..<76: return .accepted(stamp)
            case 76..<86: return .refreshed(refreshing.randomElement(using: &random) ?? stamp, .first)
            case 86..<94: return .refreshFailed(refreshing.randomElement(using: &random) ?? stamp, retryAfter: nil)
            case 94..<96: return .left(waiting.sorted().randomElement(using: &random) ?? 0)
            case 96: return .ended(stamp, .revoked)
            case 97: return .signedOut
            default:
                epochs.append(machine.reserveEpoch())
                return .signedIn(epoch: epochs.randomElement(using: &random) ?? 0, .first)
            }
        }

        mutating func book(
            _ event: SessionMachine.Event, _ effects: [SessionMachine.Effect], before: SessionState,
            after: SessionState,
            slots: Int
        ) {
            switch event {
            case .wants(let id, _):
                sent.remove(id)
                waiting.insert(id)
            case .left(let id):
                sent.remove(id)
                waiting.remove(id)
            case .refreshed(let stamp, _), .refreshFailed(let stamp, _):
                refreshing.removeAll { $0 == stamp }
            default: break
            }
            book(effects)
            #expect(sent.count <= slots)
            if case .signedOut = after, before != after {
                #expect(sent.isEmpty && waiting.isEmpty)
                #expect(effects.count { $0 == .cancelRefresh } == 1)
            }
        }

        mutating func book(_ effects: [SessionMachine.Effect]) {
            for effect in effects {
                switch effect {
                case .grant(let id, _):
                    #expect(waiting.remove(id) != nil, "a slot was granted without a request")
                    sent.insert(id)
                case .fail(let id, _):
                    waiting.remove(id)
                    sent.remove(id)
                case .cancelRefresh: refreshing = []
                case .run(.refresh(let stamp, _)):
                    #expect(refreshing.isEmpty, "two refreshes run at the same time")
                    refreshing.append(stamp)
                case .run: break
                }
            }
        }
    }
}

extension SessionMachine.Effect {
    fileprivate var isRefresh: Bool { if case .run(.refresh) = self { true } else { false } }
    fileprivate var grantedID: Int? { if case .grant(let id, _) = self { id } else { nil } }
    fileprivate var failedID: Int? { if case .fail(let id, _) = self { id } else { nil } }
}
