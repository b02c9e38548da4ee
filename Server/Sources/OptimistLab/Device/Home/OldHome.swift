// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistLoading
import OptimistSession

/// The first screen of the app in the third story. It puts one answer into three models, and redraws the entire screen
/// for each of them. It checks the chapel's hours only when an answer arrives.
actor OldHome: HomeShowing {
    private let session: Session
    private let store: Store
    private let clock: PhoneClock
    private let board: HomeBoard
    private var loading: Task<Void, Never>?

    init(session: Session, store: Store, clock: PhoneClock, news: NewsDesk) {
        (self.session, self.store, self.clock) = (session, store, clock)
        board = HomeBoard(clock: clock, news: news)
    }

    nonisolated var snapshot: HomeSnapshot { board.snapshot }

    func open() { if loading == nil { refresh() } }

    func refresh() {
        // Unstructured, as in the original app.
        loading = Task { await load() }
    }

    func systemClockDidChange() {}

    func close() { loading?.cancel() }

    private func load() async {
        board.asks()
        do {
            let page = try await session.homePage()
            board.answered()
            var home = board.home
            (home.news, home.banner) = (page.news, page.banner)
            draw(home)
            (home.notices, home.shortcuts) = (page.notices, page.shortcuts)
            draw(home)
            home.chapel = page.chapel.hours?.isOpen(at: clock.now) ?? true ? page.chapel : nil
            home.left = try await store.read { try LabTodo.left($0) }
            draw(home)
            board.fails(nil)
        } catch {
            board.fails("The server does not answer.")
        }
    }

    private func draw(_ home: Home) {
        let shown = Set(HomePart.allCases).subtracting(home.chapel == nil ? [.chapel] : [])
        board.draw(home, shown, changed: Set(HomePart.allCases))
    }
}
