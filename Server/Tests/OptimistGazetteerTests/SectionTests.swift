// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistGazetteer
import Testing

/// Which place a section belongs to.
@Suite(.timeLimit(.minutes(20)))
struct SectionTests {
    /// The name of a section at 0, 0 among these places.
    private func name(_ places: TestPlace...) throws -> String? {
        let section = TestPlace(
            id: 100, coordinate: Coordinate(0, 0), code: "PPLX", units: ["XX", "1", "2", "3", ""], population: 5000)
        let folder = try Folder()
        let gazetteer = try folder.gazetteer(of: places + [section])
        return try gazetteer.place(at: Coordinate(0, 0), languages: [])?.place.text
    }

    /// A place to the east.
    private func place(_ id: Int64, _ degrees: Double, _ units: String..., population: Int = 0) -> TestPlace {
        let units = units + Array(repeating: "", count: 5 - units.count)
        return TestPlace(id: id, coordinate: Coordinate(0, degrees), units: units, population: population)
    }

    @Test func `a section belongs to the place that shares the most units with it`() throws {
        let shared = [place(1, 0.05, "XX", "1"), place(2, 0.2, "XX", "1", "2"), place(3, 0.1, "XX", "1", "2", "3")]
        #expect(try name(shared[0], shared[1], shared[2]) == "Place 3")
        #expect(try name(shared[0], shared[1]) == "Place 2")
        #expect(try name(shared[0]) == "Place 1")
        // An equal code inside another unit is a different unit, and missing codes are not shared.
        #expect(try name(place(1, 0.05, "XX", "1", "9", "3"), place(2, 0.1, "XX", "1", "2")) == "Place 2")
        #expect(try name(place(1, 0.05, "XX", "1", "2", "3", "4"), place(2, 0.1, "XX", "1", "2", "3")) == "Place 1")
    }

    @Test func `of places that share equally many units, the most populous wins, and then the nearest`() throws {
        #expect(try name(place(1, 0.05, "XX", "1"), place(2, 0.2, "XX", "1", population: 10)) == "Place 2")
        #expect(try name(place(2, 0.05, "XX", "1"), place(1, 0.2, "XX", "1")) == "Place 2")
    }

    @Test func `a place more than 25 km away, in another country or area, or itself a section, is not used`() throws {
        #expect(try name(place(1, 0.226, "XX", "1", "2", "3")) == "Place 100")
        #expect(try name(place(1, 0.224, "XX", "1", "2", "3")) == "Place 1")
        let corner = TestPlace(id: 1, coordinate: Coordinate(0.2, 0.2), units: ["XX", "1", "2", "3", ""])
        #expect(try name(corner) == "Place 100")
        #expect(try name(place(1, 0.05, "YY", "1", "2", "3"), place(2, 0.05, "XX", "9", "2", "3")) == "Place 100")
        var section = place(1, 0.05, "XX", "1", "2", "3")
        section.code = "PPLX"
        #expect(try name(section) == "Place 100")
    }
}
