// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Synchronization

/// The state of the first screen, with counts of its redraws.
final class HomeBoard: Sendable {
    private struct State {
        var home = Home()
        var shown: Set<HomePart> = []
        var drawn: [HomePart: Int] = [:]
        var times = 0
        var answers = 0
        var problem: String?
        var row: String?
        var requests = 0
    }

    private let state = Mutex(State())
    private let clock: PhoneClock
    private let news: NewsDesk

    init(clock: PhoneClock, news: NewsDesk) { (self.clock, self.news) = (clock, news) }

    var snapshot: HomeSnapshot {
        let zone = home.chapel?.timeZone ?? PhoneClock.chapelZone
        let time = clock.text(in: zone)
        return state.withLock { state in
            HomeSnapshot(
                home: state.home,
                parts: HomePart.allCases.map {
                    HomeSnapshot.Part(id: $0, drawn: state.drawn[$0] ?? 0, shown: state.shown.contains($0))
                }, drawn: state.times, answers: state.answers, clock: time, problem: state.problem)
        }
    }

    var home: Home { state.withLock { $0.home } }

    func asks() {
        let row = state.withLock { state in
            state.requests += 1
            state.row = "\(news.device)/home/\(state.requests)"
            return state.row
        }
        news.tell(.home, "Home", row: row)
    }

    func answered() {
        state.withLock { $0.answers += 1 }
        news.changed(.home)
    }

    func fails(_ problem: String?) {
        state.withLock { $0.problem = problem }
        news.changed(.home)
    }

    func draw(_ home: Home, _ shown: Set<HomePart>, changed: Set<HomePart>) {
        let (row, times) = state.withLock { state in
            state.home = home
            state.shown = shown
            state.times += 1
            for part in changed { state.drawn[part, default: 0] += 1 }
            return (state.row, state.times)
        }
        let names = HomePart.allCases.filter(changed.contains).map(\.rawValue)
        news.tell(.redraw, "\(times): \(names.joined(separator: ", "))", row: row)
        news.changed(.home)
    }
}
