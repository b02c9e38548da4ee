// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistGazetteer
import Testing

/// Imports of good, bad and wrong files.
@Suite(.timeLimit(.minutes(20)))
struct GazetteerImportTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private var place: NamedPlace? {
        get throws { try Gazetteer(at: folder.gazetteer).place(at: Coordinate(35.69, 139.69), languages: ["ja"]) }
    }

    @Test func `an import reports its counts`() throws {
        let report = try Fixtures.everything.run(to: folder.gazetteer)
        #expect(report.places == 18 && report.sections == 4 && report.areas == 11 && report.names == 42)
        #expect(report.unreadable.allSatisfy { $0.count == 0 })
        #expect(try folder.files == ["gazetteer.sqlite"])
    }

    @Test func `an unreadable line is reported with its number and reason, and the import continues`() throws {
        let good = try String(contentsOf: Fixtures.cities, encoding: .utf8).split(separator: "\n").map(String.init)
        let tokyo = good[0].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        func broken(_ column: Int, _ value: String) -> String {
            var columns = tokyo
            columns[column] = value
            return columns.joined(separator: "\t")
        }
        let bad = [
            ("Tokyo", "it has 1 columns instead of 19"), (broken(0, "x"), "column 1 is not an integer"),
            (broken(1, ""), "column 2, the name, is empty"),
            (broken(4, "91"), "91.0, 139.69171 is not a point"), (broken(5, "nan"), "not a point"),
            (broken(4, ""), "column 5"),
            (broken(14, "many"), "column 15"), (good[0], "the id 1850147 appears twice"), (good[0] + "\tmore", "20"),
        ]
        var bytes = Array(good.joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8)
        for (line, _) in bad { bytes += Array("\(line)\n".utf8) }
        bytes += Array("\(tokyo[0])\t".utf8) + [0xFF] + Array(broken(0, "").utf8.dropFirst(6))
        let file = try folder.file("cities.txt", bytes)
        let report = try GazetteerImport(cities: file, areas: Fixtures.areas).run(to: folder.gazetteer)
        #expect(report.places == 18)
        let unreadable = try #require(report.unreadable.first)
        #expect(unreadable.file == "cities.txt" && unreadable.count == bad.count + 1)
        #expect(unreadable.first.map(\.line) == Array(22...31))
        for (line, expected) in zip(unreadable.first, bad) { #expect(line.reason.contains(expected.1)) }
        #expect(unreadable.first.last?.reason.contains("not UTF-8") == true)
    }

    @Test func `lines are read correctly across chunks, and an endless line is harmless`() throws {
        var random = SplitMix64(seed: 1)
        let places = (1...9000).map { TestPlace(id: $0, coordinate: Coordinate(Double($0) / 200, Double($0) / 100)) }
        let text = String(repeating: "x", count: 3_000_000) + "\n" + places.text.dropLast()
        let report = try GazetteerImport(cities: try folder.file("cities.txt", text)).run(to: folder.gazetteer)
        #expect(report.places == 9000 && report.unreadable.first?.count == 1)
        let gazetteer = try Gazetteer(at: folder.gazetteer)
        for place in places.shuffled(using: &random).prefix(200) {
            #expect(try gazetteer.place(at: place.coordinate, languages: [])?.place.text == "Place \(place.id)")
        }
    }

    @Test func `if a file is wrong, the import names the right file and keeps the previous gazetteer`() throws {
        _ = try Fixtures.everything.run(to: folder.gazetteer)
        let before = try Data(contentsOf: folder.gazetteer)
        let zip = try folder.file("cities500.zip", (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) })
        let empty = try folder.file("empty.txt", "")
        let (cities, areas, names) = (Fixtures.cities, Fixtures.areas, Fixtures.names)
        let wrong: [(GazetteerImport, String)] = [
            (GazetteerImport(cities: names), "cities500.txt"), (GazetteerImport(cities: zip), "cities500.txt"),
            (GazetteerImport(cities: empty), "It is empty"),
            (GazetteerImport(cities: cities, areas: names), "admin1CodesASCII.txt"),
            (GazetteerImport(cities: cities, areas: areas, names: cities), "alternateNamesV2.txt"),
            (GazetteerImport(cities: cities, areas: areas, names: areas), "alternateNamesV2.txt"),
            (GazetteerImport(cities: folder.url.appending(path: "nowhere.txt")), "nowhere.txt cannot be read: No such"),
            (GazetteerImport(cities: folder.url), "cannot be read: Is a directory"),
        ]
        for (attempt, words) in wrong {
            let error = #expect(throws: OptimistError.self) { try attempt.run(to: folder.gazetteer) }
            #expect(error?.code == .unreadableGeoNames && error?.message.contains(words) == true, "\(words)")
        }
        #expect(try Data(contentsOf: folder.gazetteer) == before)
        #expect(try folder.files == ["gazetteer.sqlite", "cities500.zip", "empty.txt"])
    }

    @Test func `a wrong file is refused after its first thousand lines`() throws {
        let places = (1...500).map { TestPlace(id: $0, coordinate: Coordinate(0, 0)) }
        let file = try folder.file("cities.txt", String(repeating: "x\n", count: 1000) + places.text)
        let error = #expect(throws: OptimistError.self) { try GazetteerImport(cities: file).run(to: folder.gazetteer) }
        #expect(error?.code == .unreadableGeoNames)
        let late = try folder.file("late.txt", places.text + String(repeating: "x\n", count: 1000))
        #expect(try GazetteerImport(cities: late).run(to: folder.gazetteer).places == 500)
    }

    @Test func `a cancelled import leaves the previous gazetteer and nothing else`() async throws {
        _ = try Fixtures.everything.run(to: folder.gazetteer)
        let places = (1...2000).map { TestPlace(id: $0, coordinate: Coordinate(0, 0)) }
        let attempt = GazetteerImport(cities: try folder.file("cities.txt", places.text))
        let attempting = Task { [gazetteer = folder.gazetteer] in
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try attempt.run(to: gazetteer)
        }
        await #expect(throws: CancellationError.self) { try await attempting.value }
        #expect(try place?.place.text == "東京")
        #expect(try folder.files == ["gazetteer.sqlite", "cities.txt"])
    }

    @Test func `the leftovers of a killed import are removed by the next one`() throws {
        _ = try folder.file(".gazetteer.sqlite.import", "half")
        _ = try Fixtures.everything.run(to: folder.gazetteer)
        #expect(try place?.place.text == "東京")
        #expect(try folder.files == ["gazetteer.sqlite"])
    }

    @Test func `an open gazetteer keeps working when another file replaces it`() throws {
        _ = try Fixtures.everything.run(to: folder.gazetteer)
        let open = try Gazetteer(at: folder.gazetteer)
        _ = try GazetteerImport(cities: Fixtures.cities).run(to: folder.gazetteer)
        #expect(try open.place(at: Coordinate(35.69, 139.69), languages: ["ja"])?.place.text == "東京")
        #expect(try place?.place.text == "Tokyo")
    }

    @Test func `an import replaces only a gazetteer, and reports a missing folder`() throws {
        let letter = try folder.file("letter.txt", "Dear reader")
        let stranger = folder.url.appending(path: "stranger.sqlite")
        try DatabaseQueue(path: stranger.path).write { try $0.execute(sql: "CREATE TABLE thing (a)") }
        for file in [letter, stranger, folder.url, folder.url.appending(path: "no/where.sqlite")] {
            let before = try? Data(contentsOf: file)
            let error = #expect(throws: OptimistError.self) { try Fixtures.everything.run(to: file) }
            #expect(error?.code == .gazetteerNotWritten && error?.message.contains(file.path) == true)
            #expect((try? Data(contentsOf: file)) == before)
        }
    }

    @Test func `a file that is not a gazetteer, or has another format, is refused and left unchanged`() throws {
        let letter = try folder.file("letter.txt", "Dear reader")
        let stranger = folder.url.appending(path: "stranger.sqlite")
        try DatabaseQueue(path: stranger.path).write { try $0.execute(sql: "CREATE TABLE thing (a)") }
        _ = try Fixtures.everything.run(to: folder.gazetteer)
        try DatabaseQueue(path: folder.gazetteer.path).write { try $0.execute(sql: "PRAGMA user_version = 99") }
        let cases = [
            (letter, "cannot be read"), (stranger, "not a gazetteer"), (folder.gazetteer, "format 99"),
            (folder.url.appending(path: "nowhere"), "does not exist"), (folder.url, "cannot be read"),
        ]
        for (file, words) in cases {
            let before = try? Data(contentsOf: file)
            let error = #expect(throws: OptimistError.self) { try Gazetteer(at: file) }
            #expect(error?.code == .notAGazetteer && error?.message.contains(words) == true, "\(words)")
            #expect((try? Data(contentsOf: file)) == before)
        }
    }
}
