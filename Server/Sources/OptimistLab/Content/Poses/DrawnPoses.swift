// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Synchronization

/// Drawn poses, which do not need pictures in the repository. They are the same at each start.
final class DrawnPoses: PoseCatalogue {
    private static let chosen = 24
    private static let recommended = 10_000
    private let published = Mutex(0)

    let choices = PoseChoices(people: [1, 2, 3, 4], frames: [1, 2, 4], tags: PoseTag.allCases.map(\.rawValue))

    /// Adds a pose at the top of the recommended ones.
    func publish() -> Pose {
        let number = published.withLock { published in
            published += 1
            return published
        }
        return Pose(.published, number)
    }

    func poses(in section: PoseSection) -> any Sequence<Pose> {
        switch section {
        case .chosen: return (1...Self.chosen).lazy.map { Pose(.chosen, $0) }
        case .recommended:
            let new = published.withLock { $0 }
            return (0..<new + Self.recommended).lazy.map { place in
                place < new ? Pose(.published, new - place) : Pose(.recommended, place - new + 1)
            }
        }
    }

    func picture(of id: Pose.ID, width: Int?) -> Picture? {
        guard let origin = PoseOrigin(id) else { return nil }
        let svg = PoseDrawing(Pose(origin.list, origin.number), seed: origin.seed).svg
        return Picture(type: "image/svg+xml", bytes: Array(svg.utf8))
    }
}

/// The activity in a pose, which determines its drawing.
enum PoseTag: String, CaseIterable, Sendable {
    case jump, hearts, wave, seated, dance
}

/// The pose that an id refers to: `c7` is the seventh chosen pose.
private struct PoseOrigin {
    enum List: String {
        case chosen = "c"
        case recommended = "r"
        case published = "n"
    }

    let list: List
    let number: Int

    init(list: List, number: Int) { (self.list, self.number) = (list, number) }

    init?(_ id: Pose.ID) {
        guard let list = id.first.flatMap({ List(rawValue: String($0)) }), let number = Int(id.dropFirst()),
            (1...1_000_000).contains(number)
        else { return nil }
        self.init(list: list, number: number)
    }

    /// A different seed for each pose.
    var seed: UInt64 {
        let base: UInt64 =
            switch list {
            case .chosen: 1
            case .recommended: 2
            case .published: 3
            }
        return base << 32 | UInt64(number)
    }
}

extension Pose {
    fileprivate init(_ list: PoseOrigin.List, _ number: Int) {
        let origin = PoseOrigin(list: list, number: number)
        var random = SplitMix64(seed: origin.seed)
        let people = [1, 2, 2, 3, 4][Int.random(in: 0..<5, using: &random)]
        let frames = [1, 1, 2, 4][Int.random(in: 0..<4, using: &random)]
        let tags = PoseTag.allCases.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random))
        let (width, height) =
            switch frames {
            case 1: people > 2 ? (640, 480) : (480, 600)
            case 2: (480, 720)
            default: (480, 640)
            }
        self.init(
            id: list.rawValue + String(number), width: width, height: height, people: people, frames: frames,
            tags: tags.map(\.rawValue))
    }
}
