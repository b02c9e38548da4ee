// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import OptimistServer

/// The order and the times of the calls to a receiver.
@Suite(.timeLimit(.minutes(20)))
struct DeliveryScheduleTests {
    private typealias Action = DeliverySchedule.Action

    /// A schedule with the turn.
    private static func begun(_ accounts: Set<String>) -> (
        schedule: DeliverySchedule, actions: [DeliverySchedule.Action]
    ) {
        var schedule = DeliverySchedule(random: SplitMix64(seed: 1))
        #expect(schedule.handle(.changed(accounts), at: .zero) == [.beginTurn])
        let actions = schedule.handle(.turnBegan, at: .zero)
        return (schedule, actions)
    }

    @Test func `D1 an account has one call at a time, and is looked at again if it changed during it`() {
        var (schedule, actions) = Self.begun(["a"])
        #expect(actions == [.deliver("a")])
        #expect(schedule.handle(.changed(["a"]), at: .zero).isEmpty)
        #expect(schedule.handle(.ended("a", .done), at: .zero) == [.deliver("a")])
        #expect(schedule.handle(.ended("a", .more), at: .zero) == [.deliver("a")])
        actions = schedule.handle(.ended("a", .done), at: .zero)
        #expect(actions == [.endTurn])
        #expect(schedule.figures(at: .zero).waiting == 0)
    }

    @Test func `D3 a failed account waits ever longer, at most 12 hours, while others are sent`() {
        var (schedule, _) = Self.begun(["a"])
        var (now, waits) = (Duration.zero, [Duration]())
        for _ in 1...12 {
            #expect(schedule.handle(.ended("a", .failed(.status(500))), at: now) == [.endTurn])
            _ = schedule.handle(.turnEnded, at: now)
            let failed = now
            // Another account is sent at once, and its success does not let the failing account try again early.
            #expect(schedule.handle(.changed(["b"]), at: now) == [.beginTurn])
            #expect(schedule.handle(.turnBegan, at: now) == [.deliver("b")])
            #expect(schedule.handle(.ended("b", .done), at: now) == [.endTurn])
            _ = schedule.handle(.turnEnded, at: now)
            while schedule.handle(.tick, at: now) != [.beginTurn], now - failed < .seconds(90_000) {
                now += .seconds(1)
            }
            #expect(schedule.handle(.turnBegan, at: now) == [.deliver("a")])
            waits.append(now - failed)
        }
        #expect((.seconds(4)...Duration.seconds(7)).contains(waits[0]))
        #expect(waits.allSatisfy { $0 <= .seconds(12 * 3_600 + 1) })
        #expect(zip(waits.prefix(8), waits.dropFirst()).allSatisfy { $0 < $1 })
        #expect(waits.reduce(.zero, +) > .seconds(86_400))
    }

    @Test func `D3 the wait of an account does not grow while some of its calls are confirmed`() {
        var (schedule, _) = Self.begun(["a"])
        var now = Duration.zero
        for _ in 1...5 {
            #expect(schedule.handle(.ended("a", .interrupted(.status(503))), at: now) == [.endTurn])
            _ = schedule.handle(.turnEnded, at: now)
            now += .seconds(7)
            #expect(schedule.handle(.tick, at: now) == [.beginTurn])
            #expect(schedule.handle(.turnBegan, at: now) == [.deliver("a")])
        }
        #expect(schedule.figures(at: now).failing == 1)
    }

    @Test func `D3 accounts that always fail keep their waits while others succeed`() {
        var (schedule, actions) = Self.begun(["a", "b", "c", "d"])
        var (now, calls) = (Duration.zero, 0)
        for second in 1...3_600 {
            if second % 60 == 0 { actions += schedule.handle(.changed(["d"]), at: now) }
            while let action = actions.popLast() {
                switch action {
                case .beginTurn: actions += schedule.handle(.turnBegan, at: now)
                case .endTurn: actions += schedule.handle(.turnEnded, at: now)
                case .deliver("d"): actions = schedule.handle(.ended("d", .done), at: now) + actions
                case .deliver(let account):
                    calls += 1
                    // The fourth account's calls end last.
                    actions = schedule.handle(.ended(account, .failed(.late)), at: now) + actions
                case .switchOff: Issue.record("The receiver is not gone.")
                }
            }
            now += .seconds(1)
            actions += schedule.handle(.tick, at: now)
        }
        #expect((15...30).contains(calls), "\(calls)")
    }

    @Test func `D3 when a receiver that was down answers, all accounts are tried at once`() {
        var (schedule, actions) = Self.begun(["a", "b", "c", "d"])
        #expect(Set(actions) == [.deliver("a"), .deliver("b"), .deliver("c"), .deliver("d")])
        #expect(schedule.handle(.ended("a", .interrupted(.unreachable)), at: .zero).isEmpty)
        for account in ["b", "c"] {
            #expect(schedule.handle(.ended(account, .failed(.unreachable)), at: .zero).isEmpty)
        }
        #expect(schedule.figures(at: .seconds(1)) == (4, 3, .seconds(1)))
        actions = schedule.handle(.ended("d", .done), at: .seconds(1))
        #expect(Set(actions) == [.deliver("a"), .deliver("b"), .deliver("c")])
    }

    @Test func `D4 after 410 nothing is sent until the receiver is switched on, and nothing is left out`() {
        var (schedule, _) = Self.begun(["a", "b"])
        #expect(schedule.handle(.ended("a", .gone), at: .zero) == [.switchOff])
        #expect(schedule.handle(.ended("b", .more), at: .zero) == [.endTurn])
        _ = schedule.handle(.turnEnded, at: .zero)
        #expect(schedule.handle(.changed(["c"]), at: .seconds(90_000)).isEmpty)
        #expect(schedule.handle(.switched(off: false), at: .seconds(90_000)) == [.beginTurn])
        #expect(schedule.handle(.tick, at: .seconds(90_000)).isEmpty)
        #expect(
            Set(schedule.handle(.turnBegan, at: .seconds(90_000))) == [.deliver("a"), .deliver("b"), .deliver("c")])
    }

    @Test func `D5 a schedule sends only in its turn, asks for a refused turn again, and ends a long one`() {
        var schedule = DeliverySchedule(random: SplitMix64(seed: 1))
        #expect(schedule.handle(.changed(["a"]), at: .zero) == [.beginTurn])
        #expect(schedule.handle(.changed(["b"]), at: .zero).isEmpty)
        // Another server has it.
        #expect(schedule.handle(.turnEnded, at: .zero).isEmpty)
        #expect(schedule.handle(.tick, at: DeliverySchedule.turnPause - .seconds(1)).isEmpty)
        #expect(schedule.handle(.tick, at: DeliverySchedule.turnPause) == [.beginTurn])
        let begun = DeliverySchedule.turnPause
        #expect(schedule.handle(.turnBegan, at: begun) == [.deliver("a"), .deliver("b")])
        let end = begun + DeliverySchedule.maxTurn
        #expect(schedule.handle(.ended("a", .more), at: end).isEmpty)
        #expect(schedule.handle(.ended("b", .more), at: end) == [.endTurn])
        #expect(schedule.handle(.turnEnded, at: end) == [.beginTurn])
    }

    @Test(arguments: 1...200)
    func `D1 whatever fails, every account is sent in the end, and at most 16 at a time`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var schedule = DeliverySchedule(random: SplitMix64(seed: seed))
        var left = Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0)", Int.random(in: 1...4, using: &random)) })
        var (sending, now, hasTurn) = (Set<String>(), Duration.zero, false)
        var actions = schedule.handle(.changed(Set(left.keys)), at: now)
        var steps = 0
        while !left.isEmpty, steps < 100_000 {
            steps += 1
            for action in actions {
                switch action {
                case .deliver(let account):
                    #expect(hasTurn && sending.insert(account).inserted)
                case .endTurn: hasTurn = false
                case .beginTurn, .switchOff: break
                }
            }
            #expect(sending.count <= DeliverySchedule.concurrency)
            if actions.contains(.beginTurn) {
                hasTurn = Bool.random(using: &random)
                actions = schedule.handle(hasTurn ? .turnBegan : .turnEnded, at: now)
            } else if actions.contains(.endTurn) {
                #expect(sending.isEmpty)
                actions = schedule.handle(.turnEnded, at: now)
            } else if let account = sending.sorted().randomElement(using: &random) {
                sending.remove(account)
                let outcomes: [DeliverySchedule.Outcome] = [.more, .done, .failed(.late)]
                var outcome = outcomes[Int.random(in: 0..<3, using: &random)]
                if case .failed = outcome {
                } else {
                    left[account, default: 1] -= 1
                    outcome = left[account] == 0 ? .done : .more
                    if outcome == .done { left[account] = nil }
                }
                actions = schedule.handle(.ended(account, outcome), at: now)
            } else {
                now += .seconds(60)
                actions = schedule.handle(.tick, at: now)
            }
        }
        #expect(left.isEmpty)
    }
}
