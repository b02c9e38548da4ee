// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// The call stacks of a MetricKit diagnostic, in JSON.
///
/// > Source: Apple, MetricKit, `MXCallStackTree.jsonRepresentation()`.
struct MetricKitStack: Decodable {
    struct Stack: Decodable {
        var threadAttributed: Bool?
        var callStackRootFrames: [Frame]
    }
    struct Frame: Decodable {
        var binaryUUID: String?
        var offsetIntoBinaryTextSegment: Int64?
        var binaryName: String?
        var subFrames: [Frame]?
    }

    var callStacks: [Stack]

    private enum CodingKeys: String, CodingKey { case callStacks, callStackTree }

    /// Decodes the tree, which may be nested in a `callStackTree` member.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let tree = try container.decodeIfPresent(MetricKitStack.self, forKey: .callStackTree) {
            self = tree
        } else {
            callStacks = try container.decode([Stack].self, forKey: .callStacks)
        }
    }

    /// The frames of the attributed thread that are in the given images, innermost first.
    ///
    /// A crash's stack begins with the innermost frame, and each frame contains its caller. A hang's tree begins with
    /// the outermost frames, and the first frame of each level has the most samples.
    func ownFrames(of images: Set<String>, beginsInnermost: Bool) -> [CrashSignature.Frame] {
        let stack = callStacks.first { $0.threadAttributed == true } ?? callStacks.first
        var frames: [Frame] = []
        var next = stack?.callStackRootFrames.first
        while let frame = next, frames.count < 512 {
            frames.append(frame)
            next = frame.subFrames?.first
        }
        if !beginsInnermost { frames.reverse() }
        return frames.compactMap { frame in
            guard let name = frame.binaryName, images.contains(name), let image = frame.binaryUUID,
                let offset = frame.offsetIntoBinaryTextSegment
            else { return nil }
            return CrashSignature.Frame(image: image, offset: offset)
        }
    }
}
