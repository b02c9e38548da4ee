// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting

@testable import OptimistCore
@testable import OptimistLoading

struct Home: Equatable, Sendable {
    struct Chapel: Equatable, Sendable {
        var preacher: String
        var hours: OpeningHours?
    }

    var notices: [String] = []
    var weather: String?
    var chapel: Chapel?
}

enum Part: Hashable, Sendable { case notices, weather, chapel }

/// The server's answer for all sections but the weather.
struct Answer: Sendable {
    var notices: [String] = []
    var preacher: String?
    var hours: OpeningHours?
}

/// Answers that the test gives, in the order of the requests.
final class Answers<Answer: Sendable>: Sendable {
    private let state = Mutex<[CheckedContinuation<Answer, any Error>]>([])
    private let questions: AsyncStream<Void>
    private let ask: AsyncStream<Void>.Continuation

    init() { (questions, ask) = AsyncStream.makeStream() }

    func load() async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.append(continuation) }
            ask.yield()
        }
    }

    /// Waits for the next request.
    func question() async { _ = await questions.first { _ in true } }

    func answer(_ answer: Result<Answer, any Error>) { state.withLock { $0.removeFirst() }.resume(with: answer) }
    func answer(_ answer: Answer) { self.answer(.success(answer)) }
}

/// The screen with its sources and a manual clock.
struct Campus {
    let clock = ManualClock()
    let home = Answers<Answer>()
    let weather = Answers<String>()
    let sections: Sections<Part, Home>
    let snapshots: AsyncStream<ScreenSnapshot<Part, Home>>
    let now: @Sendable () -> Date

    /// - Parameter hours: The chapel's hours, or nil to use the answer's.
    init(
        hasWeather: Bool = true, hours: OpeningHours? = nil, patience: Duration? = nil,
        from start: Date = Date(timeIntervalSince1970: 1_800_000_000)
    ) {
        let (clock, home, weather) = (clock, home, weather)
        let now: @Sendable () -> Date = { start + clock.elapsed / .seconds(1) }
        let chapel =
            hours.map { ScreenSection(Part.chapel, \Home.chapel, hours: $0) }
            ?? ScreenSection(.chapel, \.chapel, hours: { $0.hours })
        var sources = [
            ScreenSource([ScreenSection(.notices, \.notices), chapel], load: { try await home.load() }) {
                answer, home in
                home.notices = answer.notices
                home.chapel = answer.preacher.map { Home.Chapel(preacher: $0, hours: answer.hours) }
                home.weather = "not mine to say"
            }
        ]
        if hasWeather {
            sources.append(
                ScreenSource([ScreenSection(.weather, \.weather)], load: { try await weather.load() }) { answer, home in
                    home.weather = answer
                })
        }
        sections = Sections(
            Home(), timeout: patience, dependencies: Dependencies(clock: clock, now: now), sources: sources)
        snapshots = sections.snapshots()
        self.now = now
    }

    func next() async -> ScreenSnapshot<Part, Home>? { await snapshots.first { _ in true } }

    func ask() async {
        sections.refresh()
        await home.question()
    }
}
