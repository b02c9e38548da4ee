// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistGazetteer
import OptimistWire
import Testing

@testable import OptimistServer

/// `GET /places`.
@Suite(.timeLimit(.minutes(20)))
struct PlaceTests {
    let site = Site()

    /// Runs a server with a gazetteer of a few real places, for a user who has signed up.
    private func serving(_ body: (HTTPSide, _ token: String) async throws -> Void) async throws {
        let gazetteer = site.directory.appending(path: "gazetteer.sqlite")
        try site.makeDirectory()
        let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../OptimistGazetteerTests/Fixtures").standardizedFileURL
        _ = try GazetteerImport(
            cities: fixtures.appending(path: "cities.txt"), areas: fixtures.appending(path: "admin1CodesASCII.txt"),
            names: fixtures.appending(path: "alternateNamesV2.txt")
        ).run(to: gazetteer)
        try await site.serving(change: { $0.gazetteer = gazetteer }) { _, http async throws in
            try await body(http, try await http.signUp().access)
        }
    }

    @Test func `a place is named in the requested languages with its attribution, and caches may keep the answer`()
        async throws
    {
        try await serving { http, token in
            let answer = try await http.get("/places?lat=35.68&lon=139.76&lang=ja,en", token: token)
            #expect(answer.status == 200 && answer.headers["content-type"] == ["application/json"])
            // The distance is to Shibuya, a section of Tokyo.
            #expect(
                answer.json == [
                    "place": "東京", "area": "東京都", "country": "JP", "language": "ja", "areaLanguage": "ja",
                    "distanceMeters": 5812, "attribution": "© GeoNames (https://www.geonames.org), CC BY 4.0",
                ])
            #expect(answer.headers["cache-control"] == ["public, max-age=86400"] && answer.headers["vary"].isEmpty)
            let local = try await http.get("/places?lat=-77.85&lon=166.67&lang=de", token: token).json
            #expect(local["place"] == "McMurdo Station" && local["language"] == .null && local["area"] == .null)
        }
    }

    @Test func `an answer without a nearby place is 204 and may be cached`() async throws {
        try await serving { http, token in
            let answer = try await http.get("/places?lat=0&lon=-150", token: token)
            #expect(answer.status == 204 && answer.body.isEmpty)
            #expect(answer.headers["cache-control"] == ["public, max-age=86400"] && answer.headers["etag"].count == 1)
        }
    }

    @Test func `without lang, Accept-Language decides, and Vary tells caches so`() async throws {
        try await serving { http, token in
            for (header, place) in [
                ("fr, ja;q=0.9", "Tokyo"), ("fr;q=0.1, ja;q=0.9", "東京"), ("xx, ja-JP;q=0.3, de;q=0", "東京"),
                ("de;q=0, *;q=0.5", "Tokyo"), ("de ; q=0.5", "Tokio"), (";;q=,", "Tokyo"),
            ] {
                let answer = try await http.get(
                    "/places?lat=35.68&lon=139.76", token: token, headers: ["accept-language": header])
                #expect(answer.json["place"]?.string == place, "\(header)")
                #expect(answer.headers["vary"] == ["Accept-Language"])
            }
            let asked = try await http.get(
                "/places?lat=35.68&lon=139.76&lang=", token: token, headers: ["accept-language": "ja"])
            #expect(asked.json["language"] == .null && asked.headers["vary"].isEmpty)
        }
    }

    @Test func `C9 a client with the answer in equivalent languages gets 304`() async throws {
        try await serving { http, token in
            let path = "/places?lat=35.68&lon=139.76"
            let first = try await http.get("\(path)&lang=ja,en", token: token)
            let tag = try #require(first.headers["etag"].first)
            for value in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let again = try await http.get(
                    "\(path)&lang=JA-jp,,ja,en_GB", token: token, headers: ["if-none-match": value])
                #expect(again.status == 304 && again.body.isEmpty && again.headers["etag"] == [tag])
                #expect(again.headers["cache-control"] == ["public, max-age=86400"])
            }
            for lang in ["en,ja", "ja", ""] {
                let other = try await http.get(
                    "\(path)&lang=\(lang)", token: token, headers: ["if-none-match": tag])
                #expect(other.status == 200 && other.headers["etag"] != [tag])
            }
        }
    }

    @Test(arguments: [
        ("", "\"lat\" is missing"), ("lat=1", "\"lon\" is missing"), ("lat=x&lon=1", "\"lat\" is not a number"),
        ("lat=1&lon=", "\"lon\" is not a number"),
        ("lat=90.01&lon=1", "\"lat\" must be a number of degrees from -90 to 90."),
        ("lat=1&lon=-180.5", "\"lon\" must be a number of degrees from -180 to 180."), ("lat=nan&lon=1", "\"lat\""),
        ("lat=1&lon=inf", "\"lon\""), ("lat=1,5&lon=2", "\"lat\" is not a number"),
    ])
    func `bad input is a problem that names the parameter`(query: String, detail: String) async throws {
        try await serving { http, token in
            let answer = try await http.get("/places?\(query)", token: token)
            #expect(answer.status == 400 && answer.headers["content-type"] == ["application/problem+json"])
            #expect(answer.json["detail"]?.string?.contains(detail) == true)
            #expect(answer.headers["cache-control"] == ["no-store"])
        }
    }

    @Test func `strangers need a token, and a server without a gazetteer reports how to get one`() async throws {
        try await serving { http, _ in
            let stranger = try await http.get("/places?lat=35.68&lon=139.76")
            #expect(stranger.status == 401 && stranger.headers["www-authenticate"].count == 1)
        }
        try await Site().serving { _, http async throws in
            let answer = try await http.get("/places?lat=35.68&lon=139.76", token: try await http.signUp().access)
            #expect(answer.status == 404 && answer.json["detail"]?.string?.contains("--gazetteer") == true)
        }
    }

    @Test(.embedded) func `a file that is not a gazetteer is refused before the server listens`() async throws {
        let error = await #expect(throws: OptimistError.self) {
            try await site.open { $0.gazetteer = site.directory.appending(path: "nowhere.sqlite") }
        }
        #expect(error?.code == .notAGazetteer && error?.message.contains("optimist gazetteer import") == true)
        #expect(!FileManager.default.fileExists(atPath: site.directory.path))
    }
}
