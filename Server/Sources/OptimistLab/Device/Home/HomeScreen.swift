// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import HTTPTypes
import Optimist
import OptimistCore
import OptimistLoading
import OptimistSession
import Synchronization

/// The first screen with Optimist's sections: an answer causes one redraw, and local changes redraw only their own
/// parts.
final class HomeScreen: HomeShowing {
    private let sections: Sections<HomePart, Home>
    private let board: HomeBoard
    private let following = Mutex<Task<Void, Never>?>(nil)

    init(session: Session, store: Store, clock: PhoneClock, news: NewsDesk) {
        let board = HomeBoard(clock: clock, news: news)
        self.board = board
        sections = Sections(
            Home(), timeout: .seconds(5), dependencies: Dependencies(now: { clock.now }),
            sources: [
                ScreenSource(
                    [
                        ScreenSection(.banner, \.banner), ScreenSection(.news, \.news),
                        ScreenSection(.notices, \.notices), ScreenSection(.shortcuts, \.shortcuts),
                        ScreenSection(.chapel, \.chapel, hours: \.hours),
                    ],
                    load: {
                        board.asks()
                        let page = try await session.homePage()
                        board.answered()
                        return page
                    }, fill: { page, home in home.fill(with: page) }),
                ScreenSource(
                    [ScreenSection(.plan, \.left)],
                    following: { store.observe { try LabTodo.left($0) }.map { try $0.get() } },
                    fill: { left, home in home.left = left }),
            ])
    }

    var snapshot: HomeSnapshot { board.snapshot }

    func open() {
        let isFirst = following.withLock { following in
            guard following == nil else { return false }
            // Unstructured, because the screen outlives the request that opened it.
            following = Task { await follow() }
            return true
        }
        if isFirst { sections.refresh() }
    }

    func retry() { if board.snapshot.problem != nil { refresh() } }

    func refresh() { sections.refresh(.news) }
    func systemClockDidChange() { sections.systemClockDidChange() }
    func close() { following.withLock { $0 }?.cancel() }

    private func follow() async {
        for await snapshot in sections.snapshots() {
            board.draw(snapshot.screen, Set(snapshot.ids), changed: snapshot.changed)
            board.fails(snapshot.phase(of: .news).problem)
        }
    }
}

extension SectionPhase {
    fileprivate var problem: String? {
        switch self {
        case .current: nil
        case .waiting: "The server has not answered yet."
        case .stale: "Outdated: the server does not answer."
        case .failed: "The server does not answer."
        }
    }
}

extension HomePage.Chapel {
    /// Nil if the times are invalid. The chapel is then always open.
    var hours: OpeningHours? {
        guard let from = TimeOfDay(opens), let to = TimeOfDay(closes), let zone = TimeZone(identifier: timeZone) else {
            return nil
        }
        return OpeningHours(from: from, to: to, in: zone)
    }
}

extension LabTodo {
    static func left(_ db: Database) throws -> Int { try filter(Column("done") == false).fetchCount(db) }
}

extension Session {
    func homePage() async throws -> HomePage {
        let answer = try await send(SessionRequest("/home"))
        guard answer.status == .ok else {
            throw OptimistError(
                .badLabData, "The server answered \(answer.status.code) to a request for the first screen.")
        }
        return try answer.decode()
    }
}
