// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistFetching
import OptimistLoading

/// A value that a short video needs.
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
    var portraitPath: String { "/authors/\(author.id)/portrait" }

    var placeKey: PlaceKey? { PlaceKey(latitude: latitude, longitude: longitude, language: "en") }

    var placePath: String? { placeKey?.target }
}

extension Place {
    var label: String {
        switch self {
        case .named(let name): name.area.map { $0 == name.place ? $0 : "\(name.place), \($0)" } ?? name.place
        case .nowhere: "somewhere"
        }
    }

    /// The credit for the place's name.
    var attribution: String? {
        switch self {
        case .named(let name): name.attribution
        case .nowhere: nil
        }
    }
}
