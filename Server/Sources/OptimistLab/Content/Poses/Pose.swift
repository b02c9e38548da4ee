// This source file is part of the Optimist open source project, under the MIT licence.

/// An idea for the pictures of a photo booth.
struct Pose: Codable, Identifiable, Hashable, Sendable {
    var id: String
    /// In pixels, so that the screen can reserve space.
    var width: Int
    var height: Int
    /// The number of people. Nil if unknown, as for a photo.
    var people: Int?
    var frames: Int
    var tags: [String]
}

/// The sections of the feed.
enum PoseSection: String, Codable, CaseIterable, Sendable {
    /// Picked by an editor.
    case chosen
    case recommended
}

struct PoseFilter: Codable, Hashable, Sendable {
    var people: Int?
    var frames: Int?
    var tag: String?

    func lets(_ pose: Pose) -> Bool {
        (people == nil || people == pose.people) && (frames == nil || frames == pose.frames)
            && (tag.map(pose.tags.contains) ?? true)
    }
}

struct PoseChoices: Codable, Equatable, Sendable {
    var people: [Int] = []
    var frames: [Int] = []
    var tags: [String] = []
}

struct PosePage: Codable, Sendable {
    var items: [Pose]
    /// The cursor of the next page. Nil at the end.
    var next: String?
    var choices: PoseChoices
}
