// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Synchronization

/// All that the server says in one answer about a campus app's first screen.
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

    /// When the chapel is open, by the clock on its wall.
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

/// What the lab's server has to say on the first screen, and what is new there.
final class HomeDesk: Sendable {
    private let page = Mutex(HomePage.first)

    var current: HomePage { page.withLock { $0 } }

    /// Something of one section is new. Nil: there is no such section.
    func publish(_ section: String) -> HomePage? {
        page.withLock { page in
            switch section {
            case "news":
                let number = (page.news.first?.id ?? 0) + 1
                page.news.insert(HomePage.News(id: number, title: "News number \(number)"), at: 0)
                page.news = Array(page.news.prefix(5))
            case "banner":
                page.banner.detail = page.banner.detail == Self.rain ? Self.sun : Self.rain
            case "notices":
                page.notices = ["Notice number \(page.notices.count + 1)"] + page.notices.prefix(3)
            default: return nil
            }
            return page
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
