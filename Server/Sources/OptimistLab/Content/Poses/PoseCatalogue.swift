// This source file is part of the Optimist open source project, under the MIT licence.

protocol PoseCatalogue: Sendable {
    var choices: PoseChoices { get }

    func poses(in section: PoseSection) -> any Sequence<Pose>

    /// Returns a pose's picture. Nil if the pose does not exist.
    ///
    /// - Parameter width: The useful width in pixels. Nil returns the original.
    func picture(of id: Pose.ID, width: Int?) async throws -> Picture?
}

/// A picture's bytes and its media type.
struct Picture: Sendable, Equatable {
    var type: String
    var bytes: [UInt8]
}

extension PoseCatalogue {
    /// - Parameter cursor: The last pose received. If it is nil or unknown, the page starts at the beginning.
    func page(of section: PoseSection, _ filter: PoseFilter, after cursor: Pose.ID?, count: Int = 8) -> PosePage {
        var items: [Pose] = []
        var isPast = cursor == nil || !poses(in: section).contains { $0.id == cursor }
        for pose in poses(in: section) {
            if isPast, filter.lets(pose) {
                // One more pose than fits proves that there is another page.
                if items.count == count { return PosePage(items: items, next: items.last?.id, choices: choices) }
                items.append(pose)
            }
            if pose.id == cursor { isPast = true }
        }
        return PosePage(items: items, next: nil, choices: choices)
    }
}
