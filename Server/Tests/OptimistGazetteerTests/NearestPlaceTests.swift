// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistGazetteer
import TestForm
import Testing

/// The R*Tree finds the same places as a comparison with all places.
@Suite(.timeLimit(.minutes(20)))
struct NearestPlaceTests {
    @Test(arguments: 1...TestForm.of(short: 1, full: 4) as ClosedRange<UInt64>)
    func `for 500 random points, the nearest place equals the brute-force result`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let places = (1...1500).map { TestPlace(id: $0, coordinate: .drawn(using: &random)) }
        let folder = try Folder()
        let gazetteer = try folder.gazetteer(of: places)
        let reaches = [50_000.0, 400_000, 3_000_000, 21_000_000]
        for _ in 0..<500 {
            let point = drawPoint(near: places, using: &random)
            let reach = reaches[Int.random(in: 0..<reaches.count, using: &random)]
            let name = try gazetteer.place(at: point, languages: [], within: reach)
            let distances = places.map { point.angle(to: $0.coordinate) * 6_371_008.8 }
            let nearest = try #require(distances.min())
            guard nearest <= reach else {
                #expect(name == nil, "seed \(seed), \(point)")
                continue
            }
            // At a pole, and on both sides of the antimeridian, several places may share a point.
            let equals = zip(places, distances).filter { $0.1 - nearest < 0.001 }.map { "Place \($0.0.id)" }
            let found = try #require(name, "seed \(seed), \(point)")
            #expect(equals.contains(found.place.text), "seed \(seed), \(point)")
            #expect(abs(found.distanceMeters - nearest) < 0.001, "seed \(seed), \(point)")
        }
    }

    @Test func `the nearest place is found even if only a farther place is inside the first box`() throws {
        // 5.6 km to the north-east in the corner of the first box, and 4.1 km to the east outside it.
        let places = [
            TestPlace(id: 1, coordinate: Coordinate(0.0358, 0.0358)),
            TestPlace(id: 2, coordinate: Coordinate(0, 0.0369)),
        ]
        let folder = try Folder()
        let name = try folder.gazetteer(of: places).place(at: Coordinate(0, 0), languages: [])
        #expect(name?.place.text == "Place 2")
    }

    @Test func `a place at the exact limit of the reach is found, but no place beyond it`() throws {
        let folder = try Folder()
        let place = Coordinate(60, 179.9)
        let gazetteer = try folder.gazetteer(of: [TestPlace(id: 1, coordinate: place)])
        for point in [Coordinate(60, -179.5), Coordinate(60.4, 179.9), Coordinate(59.6, 179.3)] {
            let distance = point.distanceMeters(to: place)
            #expect(try gazetteer.place(at: point, languages: [], within: distance) != nil)
            #expect(try gazetteer.place(at: point, languages: [], within: distance.nextDown) == nil)
        }
        #expect(try gazetteer.place(at: place, languages: [], within: 0)?.distanceMeters == 0)
    }

    @Test(arguments: [1.0, -1])
    func `places across a pole are found`(hemisphere: Double) throws {
        let folder = try Folder()
        let gazetteer = try folder.gazetteer(of: [TestPlace(id: 1, coordinate: Coordinate(hemisphere * 89.9, 170))])
        for longitude in [-10.0, 80, -100] {
            let name = try gazetteer.place(at: Coordinate(hemisphere * 89.9, longitude), languages: [])
            #expect(name?.place.text == "Place 1")
        }
    }

    @Test(arguments: [0.0, -45, 80, 89])
    func `a place is found at the circle's easternmost and westernmost points`(latitude: Double) throws {
        // A meridian touches the circle at a point nearer to the pole than the centre is.
        let angle = 0.9 * Double.pi / 180
        let center = latitude * .pi / 180
        let reach = asin(sin(angle) / cos(center)) * 180 / .pi
        let touching = asin(sin(center) / cos(angle)) * 180 / .pi
        for side in [1.0, -1] {
            let folder = try Folder()
            let place = TestPlace(id: 1, coordinate: Coordinate(touching, side * reach))
            let name = try folder.gazetteer(of: [place])
                .place(at: Coordinate(latitude, 0), languages: [], within: angle * 6_371_008.8 + 0.001)
            #expect(name?.place.text == "Place 1")
        }
    }

    @Test(arguments: [(90.1, 0), (-90.1, 0), (0, 180.1), (0, -180.1), (.nan, 0), (0, .infinity)])
    func `an invalid position gives no coordinate`(latitude: Double, longitude: Double) {
        #expect(Coordinate(latitude: latitude, longitude: longitude) == nil)
    }

    /// A quarter of the points are anywhere, a quarter at the antimeridian, a quarter near a pole, and a quarter near a
    /// place.
    private func drawPoint(near places: [TestPlace], using random: inout SplitMix64) -> Coordinate {
        guard Bool.random(using: &random), Bool.random(using: &random),
            let place = places.randomElement(using: &random)?.coordinate
        else { return .drawn(using: &random) }
        return Coordinate(
            min(max(place.latitude + .random(in: -0.3...0.3, using: &random), -90), 90),
            min(max(place.longitude + .random(in: -0.3...0.3, using: &random), -180), 180))
    }
}

extension Coordinate {
    /// Half of the points are anywhere on the sphere, a quarter within a degree of the antimeridian, and a quarter near
    /// a pole.
    fileprivate static func drawn(using random: inout SplitMix64) -> Coordinate {
        let latitude = asin(Double.random(in: -1...1, using: &random)) * 180 / .pi
        let longitude = Double.random(in: -180...180, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let offset = Bool.random(using: &random) ? 0 : Double.random(in: 0...1, using: &random)
            return Coordinate(latitude, longitude < 0 ? offset - 180 : 180 - offset)
        case 1:
            let offset = Int.random(in: 0..<8, using: &random) == 0 ? 0 : Double.random(in: 0...4, using: &random)
            return Coordinate(latitude < 0 ? offset - 90 : 90 - offset, longitude)
        default: return Coordinate(latitude, longitude)
        }
    }

    /// The angle between two points by vectors, a different method from the tested one.
    fileprivate func angle(to other: Coordinate) -> Double {
        let (a, b) = (vector, other.vector)
        let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        let length = (cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]).squareRoot()
        return atan2(length, a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    }

    private var vector: [Double] {
        let (latitude, longitude) = (latitude * .pi / 180, longitude * .pi / 180)
        return [cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude)]
    }
}
