// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistSimulation

@Suite("Shrinking", .timeLimit(.minutes(20)))
struct ShrinkingTests {
    private static let plan = Plan(
        seed: 1, devices: 2, clocksAreRight: true, pageRows: nil, seconds: 60,
        events: (0..<40).map {
            Plan.Event(at: Double($0), kind: .write, device: 0, amount: 0, draw: UInt64($0))
        })

    private static func draws(_ plan: Plan) -> [UInt64] { plan.events.map(\.draw) }

    @Test func `only the events that a failure needs stay in the plan`() {
        let short = Shrinking.shrink(Self.plan, ["lost: a value"]) { plan in
            Set(Self.draws(plan)).isSuperset(of: [7, 31]) ? ["lost: another value"] : []
        }
        #expect(Self.draws(short) == [7, 31])
    }

    @Test func `a shorter plan with a different failure is rejected`() {
        let short = Shrinking.shrink(Self.plan, ["stuck: for ever"]) { plan in
            plan.events.count > 38 ? ["stuck: for ever"] : ["lost: a value"]
        }
        #expect(short.events.count == 39)
    }

    @Test func `the number of attempts is limited`() {
        var runs = 0
        let short = Shrinking.shrink(Self.plan, ["lost: a value"], attempts: 9) { plan in
            runs += 1
            return plan.events.contains { $0.draw == 20 } ? ["lost: a value"] : []
        }
        #expect(runs == 9)
        #expect(short.events.contains { $0.draw == 20 })
    }
}
