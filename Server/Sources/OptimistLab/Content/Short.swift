// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A short video. The lab represents the video by a color.
struct Short: Codable, Identifiable, Equatable, Sendable {
    struct Author: Codable, Equatable, Sendable {
        var id: String
        var name: String
    }

    var id: String
    var title: String
    var hue: Int
    var author: Author
    var latitude: Double
    var longitude: Double

    /// The newest first.
    static let all: [Short] = {
        var random = SplitMix64(seed: 5)
        return (0..<60).map { number in
            let scene = scenes[Int.random(in: 0..<scenes.count, using: &random)]
            let author = Int.random(in: 0..<authors.count, using: &random)
            return Short(
                id: "s\(number + 1)", title: scene.titles[Int.random(in: 0..<scene.titles.count, using: &random)],
                hue: Int.random(in: 0..<360, using: &random),
                author: Author(id: "a\(author + 1)", name: authors[author]),
                latitude: scene.latitude + Double.random(in: -0.004...0.004, using: &random),
                longitude: scene.longitude + Double.random(in: -0.004...0.004, using: &random))
        }
    }()

    /// Returns nil if the author does not exist.
    static func portrait(of author: String) -> Picture? {
        guard let number = Int(author.dropFirst()), author.hasPrefix("a"), (1...authors.count).contains(number) else {
            return nil
        }
        let pose = Pose(id: author, width: 320, height: 320, people: 1, frames: 1, tags: ["wave"])
        return Picture(
            type: "image/svg+xml", bytes: Array(PoseDrawing(pose, seed: 4 << 32 | UInt64(number)).svg.utf8))
    }

    private static let authors = [
        "Aiko", "Ben", "Chloé", "Dmitri", "Esra", "Farid", "Grace", "Hye-jin", "Ines", "Jonas", "Keala", "Lin",
    ]

    private static let scenes: [(latitude: Double, longitude: Double, titles: [String])] = [
        (35.6895, 139.6917, ["Rush hour in ninety seconds", "A garden behind the towers"]),
        (35.658, 139.7016, ["The crossing, from above", "Vending machines at night"]),
        (34.6937, 135.5022, ["How takoyaki is turned", "By boat through the middle of the city"]),
        (25.0531, 121.5264, ["Night market, no words", "Rain on the scooters"]),
        (52.5244, 13.4105, ["An island of museums", "The first tram"]),
        (52.4997, 13.4034, ["Drummers under the bridge", "Sunday flea market"]),
        (48.8534, 2.3488, ["Booksellers by the river", "Bread at five in the morning"]),
        (48.8865, 2.3382, ["Down all the stairs", "A vineyard in the city"]),
        (40.7143, -74.006, ["The ferry is free", "Steam from the street"]),
        (-18.1416, 178.4415, ["Rugby until dark", "Market day"]),
        (78.2233, 15.6469, ["Noon, in December", "A dog team comes home"]),
    ]
}
