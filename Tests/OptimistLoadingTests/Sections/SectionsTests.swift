// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct SectionsTests {
    @Test func `H1 one response is one snapshot, however many sections it fills`() async throws {
        let campus = Campus(hasWeather: false)
        let told = Told(campus.sections)
        await campus.ask()
        #expect(campus.sections.snapshot == nil)
        campus.home.answer(Answer(notices: ["a", "b"], preacher: "Kim"))
        let first = await campus.next()
        #expect(first?.screen == Home(notices: ["a", "b"], chapel: Home.Chapel(preacher: "Kim")))
        #expect(first?.changed == [.notices, .chapel])
        #expect(first?.ids == [.notices, .chapel])
        // An observer slower than the second answer would get only the second answer.
        await told.count(1)
        await campus.ask()
        campus.home.answer(Answer(notices: ["c"], preacher: "Lee"))
        #expect(await campus.next()?.changed == [.notices, .chapel])
        await told.count(1)
        #expect(told.screens.map(\.notices) == [["a", "b"], ["c"]])
    }

    @Test func `H1 several sources are combined without a half-filled snapshot`() async throws {
        let campus = Campus()
        let told = Told(campus.sections)
        await campus.ask()
        await campus.weather.question()
        campus.home.answer(Answer(notices: ["a"]))
        while campus.sections.state.withLock({ $0.machine.phases[.notices].map { "\($0)" } }) != "current" {
            await Task.yield()
        }
        #expect(campus.sections.snapshot == nil)
        campus.weather.answer("sunny")
        #expect(await campus.next()?.screen == Home(notices: ["a"], weather: "sunny"))
        await told.count(1)
        #expect(told.screens.count == 1)
    }

    @Test func `H2 a source that changes alone reports only its own section, and writes into no other`() async throws {
        let campus = Campus()
        await fill(campus)
        campus.sections.refresh(.weather)
        await campus.weather.question()
        campus.weather.answer("rain")
        let rain = await campus.next()
        #expect(rain?.changed == [.weather])
        #expect(rain?.screen == Home(notices: ["a"], weather: "rain"))
        campus.sections.refresh(.notices)
        await campus.home.question()
        campus.home.answer(Answer(notices: ["b"]))
        let notices = await campus.next()
        #expect(notices?.changed == [.notices])
        #expect(notices?.screen.weather == "rain")
    }

    @Test func `H4 equal values are silent`() async throws {
        let campus = Campus()
        let told = Told(campus.sections)
        await fill(campus)
        await told.count(1)
        for notices in ["a", "b"] {
            campus.sections.refresh(.notices)
            await campus.home.question()
            campus.home.answer(Answer(notices: [notices]))
        }
        #expect(await campus.next()?.screen.notices == ["b"])
        await told.count(1)
        #expect(told.screens.map(\.notices) == [["a"], ["b"]])
    }

    @Test func `H4 a repeated failure is silent, and hidden sections are not reported`()
        async throws
    {
        let closed = OpeningHours(from: TimeOfDay(9), to: TimeOfDay(10), on: [], in: .gmt)
        let campus = Campus(hours: closed)
        await campus.ask()
        await campus.weather.question()
        campus.home.answer(Answer(notices: ["a"], preacher: "Kim"))
        campus.weather.answer(.failure(Broken()))
        #expect(await campus.next()?.changed == [.notices, .weather])
        for _ in 0..<2 {
            campus.sections.refresh(.weather)
            await campus.weather.question()
            campus.weather.answer(.failure(Broken()))
        }
        campus.sections.refresh(.notices)
        await campus.home.question()
        campus.home.answer(.failure(Broken()))
        #expect(await campus.next()?.changed == [.notices])
        #expect(await campus.sections.snapshots().first { _ in true }?.changed == [.notices, .weather])
    }

    @Test func `H1 a failed source's sections report the failure, and the others appear`() async throws {
        let campus = Campus()
        await campus.ask()
        await campus.weather.question()
        campus.weather.answer(.failure(Broken()))
        campus.home.answer(Answer(notices: ["a"]))
        let first = await campus.next()
        #expect(first?.screen.notices == ["a"])
        #expect(first.map { "\($0.phase(of: .weather)) \($0.phase(of: .notices))" } == "failed(broken) current")
        campus.sections.refresh(.weather)
        await campus.weather.question()
        campus.weather.answer("sunny")
        let second = await campus.next()
        #expect(second?.changed == [.weather])
        #expect(second.map { "\($0.phase(of: .weather))" } == "current")
        campus.sections.refresh(.weather)
        await campus.weather.question()
        campus.weather.answer(.failure(Broken()))
        let third = await campus.next()
        #expect(third?.screen.weather == "sunny", "the earlier value stays")
        #expect(third.map { "\($0.phase(of: .weather))" } == "stale(broken)")
    }

    @Test func `H1 when the app's patience ends, available sections appear and the others are waiting`() async throws {
        let campus = Campus(patience: .seconds(1))
        await campus.ask()
        await campus.weather.question()
        campus.home.answer(Answer(notices: ["a"]))
        await campus.clock.sleepers(atLeast: 1)
        campus.clock.advance(by: .seconds(1))
        let first = await campus.snapshots.first { !$0.screen.notices.isEmpty }
        #expect(first.map { "\($0.phase(of: .weather))" } == "waiting")
        campus.weather.answer("sunny")
        #expect(await campus.next()?.changed == [.weather])
    }

    @Test func `a late answer to a repeated request is not shown`() async throws {
        let campus = Campus()
        await fill(campus)
        campus.sections.refresh(.weather)
        await campus.weather.question()
        campus.sections.refresh(.weather)
        await campus.weather.question()
        campus.weather.answer("late")
        campus.weather.answer("right")
        #expect(await campus.next()?.screen.weather == "right")
    }

    @Test func `a source that keeps answering is followed, and its last answer stays`() async throws {
        let (numbers, say) = AsyncStream<Int>.makeStream()
        let sections = Sections(
            Home(),
            sources: [
                ScreenSource([ScreenSection(Part.notices, \.notices)], following: { numbers }) { number, home in
                    home.notices = ["\(number)"]
                }
            ])
        let snapshots = sections.snapshots()
        sections.refresh()
        for number in 1...3 {
            say.yield(number)
            #expect(await snapshots.first { _ in true }?.screen.notices == ["\(number)"])
        }
        say.finish()
        #expect(sections.snapshot?.screen.notices == ["3"])
    }

    private func fill(_ campus: Campus) async {
        await campus.ask()
        await campus.weather.question()
        campus.home.answer(Answer(notices: ["a"]))
        campus.weather.answer("sunny")
        _ = await campus.next()
    }
}

/// All screens that an observer received.
private final class Told: Sendable {
    private let list: Shared
    private let task: Task<Void, Never>
    private let told: AsyncStream<Void>

    init(_ sections: Sections<Part, Home>) {
        let (told, tell) = AsyncStream<Void>.makeStream()
        let (snapshots, list) = (sections.snapshots(), Shared())
        self.told = told
        self.list = list
        task = Task {
            for await snapshot in snapshots {
                list.value.withLock { $0.append(snapshot.screen) }
                tell.yield()
            }
        }
    }

    deinit { task.cancel() }

    var screens: [Home] { list.value.withLock { $0 } }

    /// Waits for `count` more screens.
    func count(_ count: Int) async { for await _ in told.prefix(count) {} }
}

private final class Shared: Sendable {
    let value = Mutex<[Home]>([])
}
