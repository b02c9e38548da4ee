// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistSimulation

@Suite("Events of a world", .timeLimit(.minutes(20)))
struct ReachedTests {
    private static func event(_ at: Double, _ kind: Plan.Kind, device: Int = 0, amount: Int = 0) -> Plan.Event {
        Plan.Event(at: at, kind: kind, device: device, amount: amount, draw: 1)
    }

    private static func reached(_ events: [Plan.Event], seconds: Double) -> [String: Int] {
        let plan = Plan(
            seed: 1, devices: 2, clocksAreRight: true, pageRows: nil, seconds: seconds, events: events)
        return WorldRun.run(plan).reached
    }

    @Test func `events that reached no process or came too late do not count`() {
        // The second device is not switched on before the end.
        let early: [Plan.Kind] = [.write, .flaky, .kill, .powerLoss, .revoke, .signOut, .checkpoint, .offline]
        let late: [Plan.Kind] = [.deviceRestore, .serverRestore]
        var events = early.map { Self.event(1, $0, device: 1, amount: 1) }
        events += late.map { Self.event(2, $0, amount: 100) }
        events += [Plan.Kind.kill, .serverKill].map { Self.event(3, $0, amount: 1_000_000) }
        events.append(Self.event(9, .join, device: 1))
        let reached = Self.reached(events, seconds: 10)
        for kind in early + late + [.serverKill] { #expect(reached[kind.rawValue] == nil, "\(kind)") }
        #expect(reached["join"] == 1)
    }

    @Test func `events count as often as they took effect`() {
        let events = [
            Self.event(5, .write), Self.event(6, .checkpoint), Self.event(6.5, .serverKill), Self.event(7, .signOut),
            Self.event(120, .expireTokens), Self.event(130, .revoke),
            Self.event(200, .upgrade), Self.event(201, .upgrade), Self.event(205, .serverUpgrade),
            Self.event(206, .serverUpgrade),
            // The write reaches a dead process.
            Self.event(260, .kill), Self.event(261, .write),
            Self.event(310, .serverPowerLoss), Self.event(320, .powerLoss, device: 1),
            Self.event(360, .deviceRestore, amount: 1), Self.event(400, .serverRestore, amount: 1),
            Self.event(450, .skew, amount: 30), Self.event(460, .flaky, device: 1, amount: 5),
            Self.event(470, .absence),
        ]
        let reached = Self.reached(events, seconds: 480)
        for kind in Set(events.map(\.kind)) { #expect(reached[kind.rawValue] == 1, "\(kind)") }
    }
}
