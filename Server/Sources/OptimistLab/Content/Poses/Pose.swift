// This source file is part of the Optimist open source project, under the MIT licence.

/// An idea for a photo booth's strip, as a page of the feed describes it.
struct Pose: Codable, Identifiable, Hashable, Sendable {
    var id: String
    /// The picture's size in pixels, so that its place is there before it is.
    var width: Int
    var height: Int
    /// How many people are in it. Nil: unknown, as of a person's own photo.
    var people: Int?
    /// How many pictures one strip has.
    var frames: Int
    var tags: [String]
}

/// The parts of the feed, which load by themselves.
enum PoseSection: String, Codable, CaseIterable, Sendable {
    /// A few poses that an editor has picked.
    case chosen
    /// All.
    case recommended
}

/// The poses that a user wants to see.
struct PoseFilter: Codable, Hashable, Sendable {
    var people: Int?
    var frames: Int?
    var tag: String?

    func lets(_ pose: Pose) -> Bool {
        (people == nil || people == pose.people) && (frames == nil || frames == pose.frames)
            && (tag.map(pose.tags.contains) ?? true)
    }
}

/// The filters on offer.
struct PoseChoices: Codable, Equatable, Sendable {
    var people: [Int] = []
    var frames: [Int] = []
    var tags: [String] = []
}

/// A page as the server sends it.
struct PosePage: Codable, Sendable {
    var items: [Pose]
    /// Where the next page begins. Nil: there is none.
    var next: String?
    var choices: PoseChoices
}
