// This source file is part of the Optimist open source project, under the MIT licence.

/// What the lab's server has to show in the feed of poses.
protocol PoseCatalogue: Sendable {
    var choices: PoseChoices { get }

    /// All poses of a section, in order, each made when it is asked for.
    func poses(in section: PoseSection) -> any Sequence<Pose>

    /// Nil: there is no such pose.
    ///
    /// - Parameter width: In pixels, the most that is of use. Nil: as it is.
    func picture(of id: Pose.ID, width: Int?) async throws -> Picture?
}

/// A picture's bytes, and what kind they are of.
struct Picture: Sendable, Equatable {
    var type: String
    var bytes: [UInt8]
}

extension PoseCatalogue {
    /// - Parameter cursor: The id of the last pose that was seen. Nil, or an id that does not exist: from the
    ///   beginning.
    func page(of section: PoseSection, _ filter: PoseFilter, after cursor: Pose.ID?, count: Int = 8) -> PosePage {
        var items: [Pose] = []
        var isPast = cursor == nil || !poses(in: section).contains { $0.id == cursor }
        for pose in poses(in: section) {
            if isPast, filter.lets(pose) {
                // One more than fits tells that there is a next page.
                if items.count == count { return PosePage(items: items, next: items.last?.id, choices: choices) }
                items.append(pose)
            }
            if pose.id == cursor { isPast = true }
        }
        return PosePage(items: items, next: nil, choices: choices)
    }
}
