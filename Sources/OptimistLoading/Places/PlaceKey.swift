// This source file is part of the Optimist open source project, under the MIT licence.

/// Names a place by its coordinate and a language. Points within the same thousandth of a degree have the same key, and so has
/// a pole at each longitude.
public struct PlaceKey: Hashable, Sendable {
    /// In thousandths of a degree: some hundred metres.
    private let north: Int
    private let east: Int
    /// The language of the names, such as `ja` or `zh-Hant`: with the script if the tag names one, without the region.
    /// For Chinese the region names the script if the tag does not: `zh-TW` is `zh-Hant`. Letters and a hyphen only.
    public let language: String

    private static let perDegree = 1_000.0

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - latitude: In degrees, from -90 to 90.
    ///   - longitude: In degrees, from -180 to 180.
    ///   - language: A language tag, such as `ja` or `zh-Hant-TW`. A malformed one becomes `und`, an unknown language.
    /// - Returns: Nil if the coordinate is not on the Earth.
    public init?(latitude: Double, longitude: Double, language: String) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        north = Int((latitude * Self.perDegree).rounded())
        let east = Int((longitude * Self.perDegree).rounded())
        // All meridians meet at a pole, and the first and the last one are the same.
        self.east = abs(north) == 90_000 ? 0 : east == -180_000 ? 180_000 : east
        self.language = Self.languageAndScript(language)
    }

    /// > Source: RFC 5646, section 2.1: two to eight letters are a language, and four after them, or after its
    /// > extensions of three, a script.
    private static func languageAndScript(_ tag: String) -> String {
        let parts = tag.split(maxSplits: 5, omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard let language = parts.first, isWord(language), (2...8).contains(language.count) else { return "und" }
        let next = parts.dropFirst().drop { isWord($0) && $0.count == 3 }.first
        guard let next, isWord(next), let script = next.count == 4 ? next : likelyScript(language, in: next) else {
            return language.lowercased()
        }
        return "\(language.lowercased())-\(script.prefix(1).uppercased())\(script.dropFirst().lowercased())"
    }

    /// The script that Chinese is written in where its region decides.
    ///
    /// > Source: Unicode CLDR, likelySubtags: zh_TW, zh_HK and zh_MO are written in Hant; zh_CN and zh_SG, as zh, in
    /// > Hans.
    private static func likelyScript(_ language: Substring, in region: Substring) -> Substring? {
        guard language.lowercased() == "zh" else { return nil }
        switch region.uppercased() {
        case "TW", "HK", "MO": return "Hant"
        case "CN", "SG": return "Hans"
        default: return nil
        }
    }

    private static func isWord(_ text: Substring) -> Bool { text.allSatisfy { $0.isASCII && $0.isLetter } }

    /// The latitude of the middle of the area, in degrees north.
    public var latitude: Double { Double(north) / Self.perDegree }
    /// The longitude of the middle of the area, in degrees east, above -180 and at most 180.
    public var longitude: Double { Double(east) / Self.perDegree }

    /// A text that is the same for equal keys in every launch of an app, such as for a file or a cache.
    public var name: String { "\(language)/\(north)/\(east)" }
}
