// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The first screen of a campus app. Nil and empty: there is nothing of it yet.
struct Home: Encodable, Sendable {
    var news: [HomePage.News] = []
    var banner: HomePage.Banner?
    var notices: [String] = []
    var shortcuts: [HomePage.Shortcut] = []
    /// There only while it is open.
    var chapel: HomePage.Chapel?
    /// How many of today's to-dos are left, by the phone's own database.
    var left: Int?

    init() {}

    /// All that one answer says.
    mutating func fill(with page: HomePage) {
        news = page.news
        banner = page.banner
        notices = page.notices
        shortcuts = page.shortcuts
        chapel = page.chapel
    }
}

/// The parts of the first screen. Each is drawn by itself.
enum HomePart: String, CaseIterable, Codable, Sendable {
    case banner, chapel, plan, news, notices, shortcuts
}

/// What the first screen shows, and how often it was drawn.
struct HomeSnapshot: Encodable, Sendable {
    struct Part: Encodable, Sendable {
        var id: HomePart
        var drawn: Int
        /// Whether it is on the screen.
        var shown: Bool
    }

    var home: Home
    var parts: [Part]
    /// How often anything was drawn, and how many answers of the server that was for.
    var drawn: Int
    var answers: Int
    /// What the phone's clock shows where the chapel is.
    var clock: String
    /// Why the server's parts are not there, or are old.
    var problem: String?
}

/// A first screen.
protocol HomeShowing: Sendable {
    var snapshot: HomeSnapshot { get }
    /// Asks for what it shows, unless it has.
    func open() async
    func refresh() async
    func systemClockDidChange() async
    func close() async
}
