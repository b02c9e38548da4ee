// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@testable import OptimistLoading

/// The decisions of a screen with several sources, without a source or a clock.
@Suite(.timeLimit(.minutes(20)))
struct SectionsMachineTests {
    private typealias Machine = SectionsMachine<Part, Home>

    private static let noon = Date(timeIntervalSince1970: 1_800_014_400)
    private static let hours = OpeningHours(from: TimeOfDay(9), to: TimeOfDay(17), in: .gmt)
    /// The notices and the chapel come from one source, the weather from another.
    private static let home = 0
    private static let weather = 1

    /// A machine that has asked both sources once.
    private static func machine() -> Machine {
        var machine = Machine(
            Home(),
            [
                [ScreenSection(.notices, \.notices), ScreenSection(.chapel, \.chapel, hours: { $0.hours })],
                [ScreenSection(.weather, \.weather)],
            ])
        for source in [home, weather] { #expect(machine.ask(source) == 1) }
        return machine
    }

    /// A machine that has shown an answer of each source.
    private static func filled(_ screen: Home = Home(notices: ["a"], weather: "sun")) -> Machine {
        var machine = machine()
        machine.answered(screen, [nil, screen.chapel?.hours], home, run: 1, at: noon)
        machine.answered(screen, [nil], weather, run: 1, at: noon)
        _ = machine.takeChanged()
        return machine
    }

    private static func phase(of part: Part, in machine: Machine) -> String {
        switch machine.phases[part] {
        case .waiting?: "waiting"
        case .current?: "current"
        case .stale?: "stale"
        case .failed?: "failed"
        case nil: "none"
        }
    }

    @Test func `H1 nothing appears before each source has answered or failed`() {
        var machine = Self.machine()
        #expect(!machine.isComplete && !machine.hasNews)
        machine.answered(Home(notices: ["a"]), [nil, nil], Self.home, run: 1, at: Self.noon)
        #expect(!machine.isComplete && !machine.hasNews)
        machine.failed(Broken(), Self.weather, run: 1, at: Self.noon)
        #expect(machine.isComplete && machine.hasNews)
        #expect(machine.shown == Home(notices: ["a"]))
        #expect(machine.takeChanged() == [.notices, .chapel, .weather])
        #expect(!machine.hasNews)
        #expect(Self.phase(of: .weather, in: machine) == "failed")
        #expect(Self.phase(of: .chapel, in: machine) == "current")
    }

    @Test func `H1 when the app's patience ends, the received answers appear, and the other sections are waiting`() {
        var machine = Self.machine()
        machine.answered(Home(weather: "sun"), [nil], Self.weather, run: 1, at: Self.noon)
        machine.waitedEnough(at: Self.noon)
        #expect(machine.isComplete && machine.hasNews)
        #expect(machine.shown == Home(weather: "sun"))
        #expect(Self.phase(of: .notices, in: machine) == "waiting")
    }

    @Test func `H1 a source that ends without an answer counts as current, and a stale one stays stale`() {
        var machine = Self.machine()
        machine.ended(Self.weather, run: 1, at: Self.noon)
        #expect(Self.phase(of: .weather, in: machine) == "current")
        machine = Self.filled()
        machine.failed(Broken(), Self.weather, run: 1, at: Self.noon)
        machine.ended(Self.weather, run: 1, at: Self.noon)
        #expect(Self.phase(of: .weather, in: machine) == "stale")
        #expect(machine.shown.weather == "sun")
    }

    @Test func `H2 a source changes its own sections only, and reports the sections that differ`() {
        var machine = Self.filled()
        let answer = Home(notices: ["b"], weather: "not mine to say")
        machine.answered(answer, [nil, nil], Self.home, run: 1, at: Self.noon)
        #expect(machine.takeChanged() == [.notices])
        #expect(machine.shown == Home(notices: ["b"], weather: "sun"))
    }

    @Test func `H2 answers to an earlier request are ignored`() {
        var machine = Self.filled()
        #expect(machine.ask(Self.weather) == 2)
        #expect(!machine.isCurrent(1, of: Self.weather) && machine.isCurrent(1, of: Self.home))
        machine.answered(Home(weather: "rain"), [nil], Self.weather, run: 1, at: Self.noon)
        machine.failed(Broken(), Self.weather, run: 1, at: Self.noon)
        machine.ended(Self.weather, run: 1, at: Self.noon)
        #expect(!machine.hasNews)
        #expect(machine.shown.weather == "sun")
        #expect(Self.phase(of: .weather, in: machine) == "current")
    }

    @Test func `H4 equal answers are silent`() {
        var machine = Self.filled()
        machine.answered(Home(notices: ["a"], weather: "other"), [nil, nil], Self.home, run: 1, at: Self.noon)
        machine.look(at: Self.noon + 60)
        #expect(!machine.hasNews)
    }

    @Test func `H4 a failure is reported once, and so is the recovery`() {
        var machine = Self.filled()
        machine.failed(Broken(), Self.home, run: 1, at: Self.noon)
        #expect(machine.takeChanged() == [.notices, .chapel])
        #expect(Self.phase(of: .notices, in: machine) == "stale")
        machine.failed(Broken(), Self.home, run: 1, at: Self.noon)
        #expect(!machine.hasNews)
        machine.answered(Home(notices: ["a"]), [nil, nil], Self.home, run: 1, at: Self.noon)
        #expect(machine.takeChanged() == [.notices, .chapel], "the sections are current again")
        #expect(Self.phase(of: .notices, in: machine) == "current")
    }

    @Test func `H3 a section and its content appear during its hours only`() {
        let chapel = Home.Chapel(preacher: "Kim", hours: Self.hours)
        var machine = Self.filled(Home(notices: ["a"], weather: "sun", chapel: chapel))
        #expect(machine.ids == [.notices, .chapel, .weather])
        let evening = Self.noon + 5 * 3_600
        #expect(machine.nextChange(after: Self.noon) == evening)
        machine.look(at: evening - 1)
        #expect(!machine.hasNews)
        machine.look(at: evening)
        #expect(machine.takeChanged() == [.chapel])
        #expect(machine.ids == [.notices, .weather])
        #expect(machine.shown == Home(notices: ["a"], weather: "sun"))
        machine.failed(Broken(), Self.home, run: 1, at: evening)
        #expect(machine.takeChanged() == [.notices], "a hidden section is not reported")
        machine.look(at: evening + 16 * 3_600)
        #expect(machine.takeChanged() == [.chapel])
        #expect(machine.shown.chapel == chapel)
    }

    @Test func `H3 a section whose new answer has no hours is still shown, without a timer`() {
        var machine = Self.filled(Home(chapel: Home.Chapel(preacher: "Kim", hours: Self.hours)))
        let evening = Self.noon + 5 * 3_600
        machine.look(at: evening)
        machine.answered(Home(chapel: Home.Chapel(preacher: "Lee")), [nil, nil], Self.home, run: 1, at: evening)
        #expect(machine.ids.contains(.chapel))
        #expect(machine.shown.chapel?.preacher == "Lee")
        #expect(machine.nextChange(after: evening) == nil)
    }

    @Test(arguments: 1...200)
    func `H2 H3 H4 under random events, exactly the changed sections are reported`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var machine = Self.filled()
        var (said, runs) = (Home(notices: ["a"], weather: "sun"), [1, 1])
        var now = Self.noon
        for _ in 0..<150 {
            let before = machine
            let source = Int.random(in: 0...1, using: &random)
            let run = runs[source] - (Int.random(in: 0..<4, using: &random) == 0 ? 1 : 0)
            let event = Int.random(in: 0..<7, using: &random)
            let isLate = run != runs[source] && event < 5
            switch event {
            case 0...2:
                let answer = Self.anything(&random)
                let hours = source == Self.home ? [nil, answer.chapel?.hours] : [nil]
                machine.answered(answer, hours, source, run: run, at: now)
                if isLate { break }
                if source == Self.home { (said.notices, said.chapel) = (answer.notices, answer.chapel) }
                if source == Self.weather { said.weather = answer.weather }
            case 3: machine.failed(Broken(), source, run: run, at: now)
            case 4: machine.ended(source, run: run, at: now)
            case 5: runs[source] = machine.ask(source)
            default:
                now += Double(Int.random(in: 0...30_000, using: &random))
                machine.look(at: now)
            }
            let changes = Self.changes(from: before, to: machine)
            #expect(machine.takeChanged() == changes)
            #expect(!isLate || changes.isEmpty, "an earlier run changes nothing")
            // The screen shows the last answers, without sections outside their hours.
            let isOpen = said.chapel?.hours?.isOpen(at: now) ?? true
            #expect(machine.ids.contains(.chapel) == isOpen)
            var shown = said
            if !isOpen { shown.chapel = nil }
            #expect(machine.shown == shown)
        }
    }

    private static func anything(_ random: inout SplitMix64) -> Home {
        Home(
            notices: ["a", "b"].filter { _ in Bool.random(using: &random) },
            weather: Bool.random(using: &random) ? "sun" : nil,
            chapel: [nil, Home.Chapel(preacher: "Kim"), Home.Chapel(preacher: "Kim", hours: hours)]
                .randomElement(using: &random) ?? nil)
    }

    /// The sections whose content, presence or phase differs.
    private static func changes(from before: Machine, to after: Machine) -> Set<Part> {
        var changes = Set(before.ids).symmetricDifference(after.ids)
        if before.shown.notices != after.shown.notices { changes.insert(.notices) }
        if before.shown.chapel != after.shown.chapel { changes.insert(.chapel) }
        if before.shown.weather != after.shown.weather { changes.insert(.weather) }
        for part in before.ids where phase(of: part, in: before) != phase(of: part, in: after) { changes.insert(part) }
        return changes
    }
}
