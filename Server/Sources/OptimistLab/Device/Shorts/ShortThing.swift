// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistFetching
import OptimistLoading

/// A thing that a short needs.
enum ShortThing: Hashable, Sendable {
    case portrait(Int)
    case place(Int)

    static func all(of index: Int) -> [ShortThing] { [.portrait(index), .place(index)] }

    var index: Int {
        switch self {
        case .portrait(let index), .place(let index): index
        }
    }

    var word: String {
        switch self {
        case .portrait: "portrait"
        case .place: "place"
        }
    }
}

extension Short {
    /// The server's path of what its author looks like.
    var portraitPath: String { "/authors/\(author.id)/portrait" }

    var placeKey: PlaceKey? { PlaceKey(latitude: latitude, longitude: longitude, language: "en") }

    /// As the phone's loader asks for it.
    var placePath: String? { placeKey?.target }
}

extension Place {
    /// As a screen shows it.
    var label: String {
        switch self {
        case .named(let name): name.area.map { $0 == name.place ? $0 : "\(name.place), \($0)" } ?? name.place
        case .nowhere: "somewhere"
        }
    }

    /// Where its name is from.
    var attribution: String? {
        switch self {
        case .named(let name): name.attribution
        case .nowhere: nil
        }
    }
}
