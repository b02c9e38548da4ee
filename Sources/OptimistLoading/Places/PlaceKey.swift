// This source file is part of the Optimist open source project, under the MIT licence.

/// Names a place by its coordinate and a language, so that points which mean the same place are one key (C9).
public struct PlaceKey: Hashable, Sendable {
    /// In thousandths of a degree: some hundred metres.
    private let north: Int
    private let east: Int
    /// The language of the names, such as `ja` or `zh-Hant`: with its script if that is named, without its region. Letters
    /// and a hyphen only.
    public let language: String

    private static let perDegree = 1_000.0

    /// - Parameters:
    ///   - latitude: In degrees, from -90 to 90.
    ///   - longitude: In degrees, from -180 to 180.
    ///   - language: A language tag, such as `ja` or `zh-Hant-TW`. What is none stands for an unknown language, `und`.
    /// - Returns: Nil if the coordinate is not on the Earth.
    public init?(latitude: Double, longitude: Double, language: String) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        north = Int((latitude * Self.perDegree).rounded())
        let east = Int((longitude * Self.perDegree).rounded())
        // Both are the same meridian.
        self.east = east == -180_000 ? 180_000 : east
        self.language = Self.languageAndScript(language)
    }

    /// > Source: RFC 5646, section 2.1: two to eight letters are a language, and four after them, or after its extensions of
    /// > three, a script.
    private static func languageAndScript(_ tag: String) -> String {
        let parts = tag.split(maxSplits: 5, omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard let language = parts.first, isWord(language), (2...8).contains(language.count) else { return "und" }
        let script = parts.dropFirst().drop { isWord($0) && $0.count == 3 }.first
        guard let script, isWord(script), script.count == 4 else { return language.lowercased() }
        return "\(language.lowercased())-\(script.prefix(1).uppercased())\(script.dropFirst().lowercased())"
    }

    private static func isWord(_ text: Substring) -> Bool { text.allSatisfy { $0.isASCII && $0.isLetter } }

    /// In degrees: the middle of what the key stands for.
    public var latitude: Double { Double(north) / Self.perDegree }
    public var longitude: Double { Double(east) / Self.perDegree }

    /// The same for the same key, in every launch of an app.
    public var name: String { "\(language)/\(north)/\(east)" }
}

/// What is at a coordinate.
public enum Place: Hashable, Sendable, Codable {
    case named(PlaceName)
    /// Nothing that has a name is near.
    case nowhere
}

/// The names of a place.
public struct PlaceName: Hashable, Sendable, Codable {
    /// A city, a town or a village.
    public var place: String
    /// The administrative area that it is in.
    public var area: String?
    /// The country's code, as of ISO 3166-1.
    public var country: String?

    public init(place: String, area: String? = nil, country: String? = nil) {
        self.place = place
        self.area = area
        self.country = country
    }
}
