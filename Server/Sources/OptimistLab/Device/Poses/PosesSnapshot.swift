// This source file is part of the Optimist open source project, under the MIT licence.

/// The screen of poses.
struct PosesSnapshot: Encodable, Sendable {
    struct Item: Encodable, Sendable {
        enum Phase: String, Encodable, Sendable {
            case placeholder, stale, loaded, failed
        }

        var pose: Pose
        var phase: Phase
        var picture: String

        init(_ pose: Pose, _ phase: Phase) {
            self.pose = pose
            self.phase = phase
            picture = pose.picturePath
        }
    }

    struct Section: Encodable, Sendable {
        enum State: String, Encodable, Sendable {
            case loading, more, ended, failed
        }

        var id: PoseSection
        var state: State
        /// Whether the items predate a refresh or this launch.
        var stale: Bool
        var items: [Item]
    }

    var filter = PoseFilter()
    var choices = PoseChoices()
    var sections: [Section] = []
    var drawn = 0
}

extension Pose {
    /// As wide as the phone's screen.
    static let width = 480

    var picturePath: String { Self.picturePath(of: id) }

    static func picturePath(of id: ID) -> String { "/poses/\(id)/picture?width=\(width)" }
}

/// A screen of poses, in the old way or with Optimist.
protocol PosesShowing: Sendable {
    var snapshot: PosesSnapshot { get async }
    /// Loads the first pages, unless requested already.
    func open() async
    func show(_ ids: [Pose.ID]) async
    func setFilter(_ filter: PoseFilter) async
    func refresh() async
    func next(in section: PoseSection) async
    func retry(_ id: Pose.ID?) async
    func close() async
}
