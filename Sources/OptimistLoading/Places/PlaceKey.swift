// This source file is part of the Optimist open source project, under the MIT licence.

/// A key for a place name: a coordinate and a language.
///
/// Coordinates are rounded to a thousandth of a degree. Each pole has one key for all longitudes.
public struct PlaceKey: Hashable, Sendable {
    /// In thousandths of a degree, about 100 metres.
    private let north: Int
    private let east: Int
    /// The language of the names, such as `ja` or `zh-Hant`: letters and a hyphen only.
    ///
    /// It includes a script if the tag has one, but not a region. For Chinese, the region determines a missing script:
    /// `zh-TW` becomes `zh-Hant`.
    public let language: String

    private static let perDegree = 1_000.0

    /// Creates a key. Returns nil if the coordinate is out of range.
    ///
    /// - Parameters:
    ///   - latitude: In degrees, from -90 to 90.
    ///   - longitude: In degrees, from -180 to 180.
    ///   - language: A language tag, such as `ja` or `zh-Hant-TW`. A malformed tag becomes `und`, an unknown language.
    public init?(latitude: Double, longitude: Double, language: String) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        north = Int((latitude * Self.perDegree).rounded())
        let east = Int((longitude * Self.perDegree).rounded())
        // All meridians meet at the poles, and -180° equals 180°.
        self.east = abs(north) == 90_000 ? 0 : east == -180_000 ? 180_000 : east
        self.language = Self.languageAndScript(language)
    }

    /// > Source: RFC 5646, section 2.1: a language of two to eight letters, up to three extensions of three letters,
    /// > then a script of four letters.
    private static func languageAndScript(_ tag: String) -> String {
        let parts = tag.split(maxSplits: 5, omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard let language = parts.first, isWord(language), (2...8).contains(language.count) else { return "und" }
        let next = parts.dropFirst().drop { isWord($0) && $0.count == 3 }.first
        guard let next, isWord(next), let script = next.count == 4 ? next : likelyScript(language, in: next) else {
            return language.lowercased()
        }
        return "\(language.lowercased())-\(script.prefix(1).uppercased())\(script.dropFirst().lowercased())"
    }

    /// The script of Chinese by region.
    ///
    /// > Source: Unicode CLDR, likelySubtags: zh_TW, zh_HK and zh_MO use Hant; zh_CN and zh_SG, like zh, use Hans.
    private static func likelyScript(_ language: Substring, in region: Substring) -> Substring? {
        guard language.lowercased() == "zh" else { return nil }
        switch region.uppercased() {
        case "TW", "HK", "MO": return "Hant"
        case "CN", "SG": return "Hans"
        default: return nil
        }
    }

    private static func isWord(_ text: Substring) -> Bool { text.allSatisfy { $0.isASCII && $0.isLetter } }

    /// The latitude of the area's center, in degrees north.
    public var latitude: Double { Double(north) / Self.perDegree }
    /// The longitude of the area's center, in degrees east, above -180 and at most 180.
    public var longitude: Double { Double(east) / Self.perDegree }

    /// A text that is the same for equal keys in every launch, for use in file or cache names.
    public var name: String { "\(language)/\(north)/\(east)" }
}
