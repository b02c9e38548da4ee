// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistLoading

/// A thing that a short needs.
enum ShortThing: Hashable, Sendable {
    case portrait(Int)
    case place(Int)

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
    var placePath: String? { placeKey.map { "/places?lat=\($0.latitude)&lon=\($0.longitude)&lang=\($0.language)" } }
}

extension Place {
    /// As a screen shows it.
    var label: String {
        switch self {
        case .named(let name): name.area.map { $0 == name.place ? $0 : "\(name.place), \($0)" } ?? name.place
        case .nowhere: "somewhere"
        }
    }
}
