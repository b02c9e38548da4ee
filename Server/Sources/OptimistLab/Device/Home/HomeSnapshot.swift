// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The first screen. Parts that have not loaded are nil or empty.
struct Home: Encodable, Sendable {
    var news: [HomePage.News] = []
    var banner: HomePage.Banner?
    var notices: [String] = []
    var shortcuts: [HomePage.Shortcut] = []
    /// Nil while the chapel is closed.
    var chapel: HomePage.Chapel?
    /// The number of open to-dos, from the phone's database.
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

/// The parts of the first screen, which are drawn independently.
enum HomePart: String, CaseIterable, Codable, Sendable {
    case banner, chapel, plan, news, notices, shortcuts
}

/// The first screen, with counts of its redraws.
struct HomeSnapshot: Encodable, Sendable {
    struct Part: Encodable, Sendable {
        var id: HomePart
        var drawn: Int
        var shown: Bool
    }

    var home: Home
    var parts: [Part]
    /// The number of redraws, and of the answers that caused them.
    var drawn: Int
    var answers: Int
    /// The time at the chapel.
    var clock: String
    /// Why the server's parts are missing or outdated.
    var problem: String?
}

protocol HomeShowing: Sendable {
    var snapshot: HomeSnapshot { get }
    /// Loads the contents, unless requested already.
    func open() async
    func refresh() async
    func systemClockDidChange() async
    func close() async
}
