// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@testable import OptimistGazetteer

/// The names of places.
@Suite(.timeLimit(.minutes(20)))
struct GazetteerTests {
    let folder: Folder
    let gazetteer: Gazetteer

    init() throws {
        folder = try Folder()
        _ = try Fixtures.everything.run(to: folder.gazetteer)
        gazetteer = try Gazetteer(at: folder.gazetteer)
    }

    private func name(_ latitude: Double, _ longitude: Double, _ languages: String...) throws -> NamedPlace? {
        try gazetteer.place(at: Coordinate(latitude, longitude), languages: languages)
    }

    @Test func `a place, its area and its country are named in the requested language, with the distance`() throws {
        let tokyo = try #require(try name(35.6895, 139.6917, "ja"))
        #expect(tokyo.place == .init("東京", "ja") && tokyo.area == .init("東京都", "ja") && tokyo.country == "JP")
        #expect(tokyo.distanceMeters < 5)
        let osaka = try #require(try name(34.70, 135.50, "ja"))
        #expect(osaka.place == .init("大阪市", "ja") && osaka.area == .init("大阪府", "ja"))
        #expect((600...800).contains(osaka.distanceMeters))
    }

    @Test func `place and area each use the first language with a name, or else the local name`() throws {
        let osaka = try #require(try name(34.69, 135.50, "de", "fr", "en"))
        #expect(osaka.place == .init("Osaka", "en") && osaka.area == .init("Préfecture d’Osaka", "fr"))
        let suva = try #require(try name(-18.14, 178.44, "de"))
        #expect(suva.place == .init("Suva", nil) && suva.area == .init("Central", nil))
        let mcMurdo = try #require(try name(-77.85, 166.67, "ja"))
        #expect(mcMurdo.place == .init("マクマード基地", "ja") && mcMurdo.area == nil && mcMurdo.country == "AQ")
        #expect(try name(35.69, 139.69)?.place == .init("Tokyo", nil))
    }

    @Test(arguments: [["ja"], ["JA"], ["ja-JP"], ["ja_JP"], ["", "*", "x-klingon", "日本", "ja-Hira"]])
    func `C9 tags of the same language give the same name`(tags: [String]) throws {
        let tokyo = try gazetteer.place(at: Coordinate(35.69, 139.69), languages: tags)
        #expect(tokyo?.place == .init("東京", "ja"))
    }

    @Test func `a preferred name wins, and colloquial or former names and codes are never shown`() throws {
        let newYork = (40.714, -74.006)
        #expect(try name(newYork.0, newYork.1, "en")?.place.text == "New York")
        #expect(try name(newYork.0, newYork.1, "nl")?.place == .init("New York City", nil))
        #expect(try name(newYork.0, newYork.1, "abbr", "fr-1793")?.place == .init("New York City", nil))
        #expect(try name(48.853, 2.349, "fr")?.place.text == "Paris")
        #expect(try name(52.524, 13.411, "de")?.place.text == "Berlin")
        for tag in ["zh-TW", "zh-Hant", "zh-Hant-TW"] {
            #expect(try name(25.053, 121.526, tag)?.place.text == "臺北市")
        }
        // The first of several equally preferred names.
        #expect(try name(25.053, 121.526, "de")?.place.text == "Taipeh")
        #expect(try name(35.6895, 139.6917, "ja")?.place.text == "東京")
    }

    @Test func `a city does not replace a nearer town, and a section is named by its own city`() throws {
        #expect(try name(52.40, 13.07, "ja")?.place.text == "ポツダム")
        #expect(try name(52.499, 13.40, "de")?.place.text == "Berlin")
        #expect(try name(35.658, 139.70, "ja")?.place.text == "東京")
        // Saint-Ouen is nearer to Montmartre than the centre of Paris is, and Newark has more people than Jersey City.
        #expect(try name(48.888, 2.338, "fr")?.place.text == "Paris")
        #expect(try name(48.906, 2.333, "fr")?.place.text == "Saint-Ouen")
        #expect(try name(40.7485, -74.049, "en")?.place.text == "Jersey City")
        let montmartre = try #require(try name(48.88651, 2.33822, "fr"))
        #expect(montmartre.distanceMeters < 1)
    }

    @Test func `mountains and abandoned places are not used, and remote points have no place`() throws {
        #expect(try name(35.3607, 138.7278, "ja") == nil)
        #expect(try name(51.4056, 30.0569) == nil)
        #expect(try name(0, -150) == nil)
    }

    @Test func `places are found across the antimeridian and the poles`() throws {
        let taveuni = try #require(try name(-16.8, 179.95))
        #expect(taveuni.place.text == "Somosomo, Taveuni" && (9_000...10_000).contains(taveuni.distanceMeters))
        for longitude in [-180.0, -77.5, 0, 180] {
            let pole = Coordinate(90, longitude)
            #expect(try gazetteer.place(at: pole, languages: ["no"]) == nil)
            let nearest = try #require(try gazetteer.place(at: pole, languages: ["no"], within: 2_000_000))
            #expect(nearest.place.text == "Longyearbyen" && (1_300_000...1_320_000).contains(nearest.distanceMeters))
        }
        #expect(try gazetteer.place(at: Coordinate(-90, 0), languages: [], within: 2_000_000)?.country == "AQ")
    }

    @Test func `an asynchronous search finds the same place`() async throws {
        #expect(try await gazetteer.place(at: Coordinate(48.85, 2.35), languages: ["ja"])?.place.text == "パリ")
    }

    @Test func `the file names its source, date, licence and version`() throws {
        let source = gazetteer.source
        #expect(source.attribution.contains("GeoNames") && source.attribution.contains("CC BY 4.0"))
        #expect(source.licence.contains("https://creativecommons.org/licenses/by/4.0/"))
        #expect(source.origin.contains("download.geonames.org") && source.date == "2025-01-12")
        #expect(source.files == "cities.txt, admin1CodesASCII.txt, alternateNamesV2.txt")
        let again = try Folder()
        #expect(try Fixtures.everything.run(to: again.gazetteer).source.version == source.version)
        #expect(try GazetteerImport(cities: Fixtures.cities).run(to: again.gazetteer).source.version != source.version)
    }
}

extension NamedPlace.Name {
    fileprivate init(_ text: String, _ language: String?) { self.init(text: text, language: language) }
}
