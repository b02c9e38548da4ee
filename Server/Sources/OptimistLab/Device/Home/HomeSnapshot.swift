// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The first screen of a campus app. Parts that have not loaded are nil or empty.
struct Home: Encodable, Sendable {
    var news: [HomePage.News] = []
    var banner: HomePage.Banner?
    var notices: [String] = []
    var shortcuts: [HomePage.Shortcut] = []
    /// Only while it is open.
    var chapel: HomePage.Chapel?
    /// The number of today's open to-dos, from the phone's database.
    var left: Int?

    init() {}

    mutating func fill(with page: HomePage) {
        news = page.news
        banner = page.banner
        notices = page.notices
        shortcuts = page.shortcuts
        chapel = page.chapel
    }
}

/// The parts of the first screen. Each is drawn independently.
enum HomePart: String, CaseIterable, Codable, Sendable {
    case banner, chapel, plan, news, notices, shortcuts
}

/// The contents of the first screen, with counts of its redraws.
struct HomeSnapshot: Encodable, Sendable {
    struct Part: Encodable, Sendable {
        var id: HomePart
        var drawn: Int
        /// Whether it is on screen.
        var shown: Bool
    }

    var home: Home
    var parts: [Part]
    /// The number of redraws, and the number of the server's answers that caused them.
    var drawn: Int
    var answers: Int
    /// The phone's time in the chapel's time zone.
    var clock: String
    /// The reason why the server's parts are missing or outdated.
    var problem: String?
}

/// A first screen, in either way.
protocol HomeShowing: Sendable {
    var snapshot: HomeSnapshot { get }
    /// Loads the contents, unless they were requested already.
    func open() async
    func refresh() async
    func systemClockDidChange() async
    func close() async
}
