// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import OptimistServer
@_spi(Internals) import OptimistWire

/// The content of the lab's server, in addition to the planner's rows.
struct LabContent: Sendable {
    let poses: any PoseCatalogue
    let drawn: DrawnPoses?
    let home = HomeDesk()
    let held = HeldPictures()

    /// - Parameter photos: A folder of photos, or nil to draw the poses.
    init(photos: URL?, cache: URL) throws {
        if let photos {
            (poses, drawn) = (try PhotoFolder(photos, cache: cache), nil)
        } else {
            let drawn = DrawnPoses()
            (poses, self.drawn) = (drawn, drawn)
        }
    }

    private static let posesPath: RouterPath = "/poses"
    private static let picturePath: RouterPath = "/poses/:id/picture"
    private static let homePath: RouterPath = "/home"
    private static let shortsPath: RouterPath = "/shorts"
    private static let portraitPath: RouterPath = "/authors/:id/portrait"

    static let paths = [posesPath, picturePath, homePath, shortsPath, portraitPath]

    /// > Source: RFC 9110, sections 8.8.3 and 13.1.2, on entity tags and `If-None-Match`.
    var routes: [AppRoute] {
        [
            AppRoute(Self.posesPath) { call in try json(page(call.request)) },
            AppRoute(Self.picturePath) { call in
                let id = try call.parameters.require("id")
                await held.pass(id)
                let width = call.request.uri.queryParameters.get("width", as: Int.self)
                let picture = try await poses.picture(
                    of: id, width: width.map { min(max($0, 16), 4096) })
                return try answer(picture, to: call.request)
            },
            AppRoute(Self.homePath) { _ in try json(home.current) },
            AppRoute(Self.shortsPath) { _ in try json(Short.all) },
            AppRoute(Self.portraitPath) { call in
                let id = try call.parameters.require("id")
                await held.pass(id)
                return try answer(Short.portrait(of: id), to: call.request)
            },
        ]
    }

    private func page(_ request: Request) throws -> PosePage {
        let query = request.uri.queryParameters
        guard let section = PoseSection(rawValue: query.get("section") ?? "recommended") else {
            throw HTTPError(.badRequest, message: "\"section\" must be chosen or recommended.")
        }
        let filter = PoseFilter(
            people: try number("people", query), frames: try number("frames", query), tag: query.get("tag"))
        return poses.page(of: section, filter, after: query.get("cursor"))
    }

    private func number(_ name: String, _ query: Parameters) throws -> Int? {
        guard let text = query.get(name) else { return nil }
        guard let number = Int(text) else { throw HTTPError(.badRequest, message: "\"\(name)\" must be a number.") }
        return number
    }

    private func json(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: try encoder.encode(value))))
    }

    private func answer(_ picture: Picture?, to request: Request) throws -> Response {
        guard let picture else { throw HTTPError(.notFound, message: "The picture does not exist.") }
        let tag = "\"\(Base64URL.encode(Array(SHA256.hash(picture.bytes)).prefix(12)))\""
        let headers: HTTPFields = [
            .contentType: picture.type, .cacheControl: "private, max-age=86400", .eTag: tag,
        ]
        if request.headers[.ifNoneMatch] == tag { return Response(status: .notModified, headers: headers) }
        return Response(
            status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: picture.bytes)))
    }
}
