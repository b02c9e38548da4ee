// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import OptimistGazetteer
@_spi(Internals) import OptimistWire

struct PlaceQuestion {
    let coordinate: Coordinate
    /// Without duplicates, the preferred language first. At most eight are used.
    let languages: [LanguageCode]
    /// Whether the languages come from `Accept-Language`, because the query does not have `lang`.
    let followsHeader: Bool

    /// - Throws: ``RequestProblem`` with status 400 that names the parameter.
    init(_ request: Hummingbird.Request) throws {
        let query = request.uri.queryParameters
        let latitude = try Self.degrees("lat", query["lat"], within: 90)
        let longitude = try Self.degrees("lon", query["lon"], within: 180)
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw Self.problem("\"lat\" and \"lon\" are not a point on Earth.")
        }
        self.coordinate = coordinate
        followsHeader = query["lang"] == nil
        let tags = query["lang"]?.split(separator: ",") ?? AcceptLanguage.tags(request.headers[.acceptLanguage] ?? "")
        languages = tags.compactMap { LanguageCode($0) }.reduce(into: []) { languages, language in
            if languages.count < 8, !languages.contains(language) { languages.append(language) }
        }
    }

    /// Different spellings of the same languages give the same tag.
    func entityTag(version: String) -> String { "\"\(([version] + languages.map(\.text)).joined(separator: "."))\"" }

    private static func degrees(_ name: String, _ text: Substring?, within limit: Int) throws -> Double {
        guard let text else { throw problem("The parameter \"\(name)\" is missing.") }
        guard let value = Double(text) else { throw problem("The parameter \"\(name)\" is not a number.") }
        guard abs(value) <= Double(limit) else {
            throw problem("The parameter \"\(name)\" must be a number of degrees from \(-limit) to \(limit).")
        }
        return value
    }

    private static func problem(_ detail: String) -> RequestProblem {
        RequestProblem(type: "about:blank", status: 400, detail: detail)
    }
}

enum AcceptLanguage {
    /// The most preferred tag first. Tags with equal weight keep their order.
    static func tags(_ header: String) -> [Substring] {
        header.split(separator: ",").compactMap(weigh).enumerated()
            .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
            .map(\.element.tag)
    }

    /// Parses `en-GB;q=0.8`. Nil for a language that is not accepted.
    private static func weigh(_ entry: Substring) -> (tag: Substring, weight: Double)? {
        let parts = entry.split(separator: ";").map { $0.drop { $0 == " " } }
        guard let tag = parts.first?.prefix(while: { $0 != " " }) else { return nil }
        guard let quality = parts.dropFirst().first(where: { $0.hasPrefix("q=") }) else { return (tag, 1) }
        guard let weight = Double(quality.dropFirst(2)), weight > 0 else { return nil }
        return (tag, weight)
    }
}
