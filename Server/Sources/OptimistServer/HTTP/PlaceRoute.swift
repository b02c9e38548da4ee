// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore
import OptimistGazetteer
@_spi(Internals) import OptimistWire

/// `GET /places?lat=35.68&lon=139.76&lang=ja,en`: the name of the nearest populated place.
///
/// The answer is the same for all callers and changes only with the gazetteer, so shared caches may store it.
///
/// > Source: RFC 9110 §12.5.4 and §13.1.2, RFC 9111 §5.2.2.9.
extension Routes {
    /// One day, in seconds.
    private static let placeMaxAge = 86_400

    @Sendable
    func place(_ request: Hummingbird.Request, _ context: SignedInContext) async throws -> Hummingbird.Response {
        guard let gazetteer else {
            throw RequestProblem(
                type: "about:blank", status: 404,
                detail: """
                    This server does not have a gazetteer. Create one with `optimist gazetteer import` and start the \
                    server with --gazetteer FILE.
                    """)
        }
        let question = try PlaceQuestion(request)
        let tag = question.entityTag(version: gazetteer.source.version)
        var headers: HTTPFields = [.cacheControl: "public, max-age=\(Self.placeMaxAge)", .eTag: tag]
        if question.followsHeader { headers[.vary] = "Accept-Language" }
        if request.hasCopy(tag) { return Response(status: .notModified, headers: headers) }
        guard let name = try await gazetteer.place(at: question.coordinate, languages: question.languages.map(\.text))
        else { return Response(status: .noContent, headers: headers) }
        headers[.contentType] = "application/json"
        let body = name.json(attribution: gazetteer.source.attribution).bytes
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension NamedPlace {
    fileprivate func json(attribution: String) -> JSON {
        [
            "place": .string(place.text), "area": area.map { .string($0.text) } ?? .null,
            "country": country.map(JSON.string) ?? .null, "language": place.language.map(JSON.string) ?? .null,
            "areaLanguage": area?.language.map(JSON.string) ?? .null,
            "distanceMeters": .int(Int64(distanceMeters.rounded())), "attribution": .string(attribution),
        ]
    }
}

extension Hummingbird.Request {
    fileprivate func hasCopy(_ tag: String) -> Bool {
        let fitting: Set = ["*", tag, "W/" + tag]
        return headers[values: .ifNoneMatch].contains { value in
            value.split { $0 == "," || $0 == " " }.contains { fitting.contains(String($0)) }
        }
    }
}
