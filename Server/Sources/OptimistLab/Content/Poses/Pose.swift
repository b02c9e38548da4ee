// This source file is part of the Optimist open source project, under the MIT licence.

/// An idea for the pictures of a photo booth, as a page of the feed describes it.
struct Pose: Codable, Identifiable, Hashable, Sendable {
    var id: String
    /// The picture's size in pixels, so that the screen can reserve space for it.
    var width: Int
    var height: Int
    /// The number of people. Nil if unknown, as for a photo.
    var people: Int?
    /// The number of pictures on a strip.
    var frames: Int
    var tags: [String]
}

/// The sections of the feed, which load independently.
enum PoseSection: String, Codable, CaseIterable, Sendable {
    /// A few poses that an editor has chosen.
    case chosen
    /// All poses.
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

/// The available filters.
struct PoseChoices: Codable, Equatable, Sendable {
    var people: [Int] = []
    var frames: [Int] = []
    var tags: [String] = []
}

struct PosePage: Codable, Sendable {
    var items: [Pose]
    /// The cursor of the next page. Nil after the last page.
    var next: String?
    var choices: PoseChoices
}
