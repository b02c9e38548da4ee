// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Synchronization

/// The server's answer for the first screen.
struct HomePage: Codable, Equatable, Sendable {
    struct News: Codable, Equatable, Sendable {
        var id: Int
        var title: String
    }

    struct Banner: Codable, Equatable, Sendable {
        var title: String
        var detail: String
    }

    struct Shortcut: Codable, Equatable, Sendable {
        var name: String
        var symbol: String
    }

    struct Chapel: Codable, Equatable, Sendable {
        var name: String
        var opens: String
        var closes: String
        var timeZone: String
    }

    var news: [News]
    var banner: Banner
    var notices: [String]
    var shortcuts: [Shortcut]
    var chapel: Chapel
}

/// The server's version of the first screen.
final class HomeDesk: Sendable {
    private let state = Mutex((page: HomePage.first, news: 0))

    var current: HomePage { state.withLock { $0.page } }

    /// Adds something to a section. Returns nil if the section does not exist.
    func publish(_ section: String) -> HomePage? {
        state.withLock { state in
            let number = state.news + 1
            switch section {
            case "news":
                let news = HomePage.News(id: 100 + number, title: "News number \(number)")
                state.page.news = [news] + state.page.news.prefix(4)
            case "banner":
                state.page.banner.detail = state.page.banner.detail == Self.rain ? Self.sun : Self.rain
            case "notices":
                state.page.notices = ["Notice number \(number)"] + state.page.notices.prefix(3)
            default: return nil
            }
            state.news = number
            return state.page
        }
    }

    private static let sun = "On the lawn, from noon"
    private static let rain = "In the hall, since it rains"

    fileprivate static var firstDetail: String { sun }
}

extension HomePage {
    fileprivate static let first = HomePage(
        news: [
            News(id: 3, title: "The library opens at eight from Monday"),
            News(id: 2, title: "The rowing team wins the regional"),
            News(id: 1, title: "Enrolment for winter has begun"),
        ],
        banner: Banner(title: "Summer concert", detail: HomeDesk.firstDetail),
        notices: ["Lift 2 is being repaired", "Exam rooms have changed"],
        shortcuts: [
            Shortcut(name: "Timetable", symbol: "🗓️"), Shortcut(name: "Canteen", symbol: "🍲"),
            Shortcut(name: "Library", symbol: "📚"), Shortcut(name: "Bus", symbol: "🚌"),
        ],
        chapel: Chapel(name: "Campus chapel", opens: "10:00", closes: "13:00", timeZone: "Europe/Berlin"))
}
