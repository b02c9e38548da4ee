// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// The joints of a person in a pose, in a unit square whose ground is at y = 1.
struct Figure {
    struct Point {
        var x: Double
        var y: Double

        /// Returns the point at a distance and a direction in turns: 0 is down, a quarter turn is to the right.
        func going(_ length: Double, _ turns: Double) -> Point {
            Point(x: x + length * sin(turns * 2 * .pi), y: y + length * cos(turns * 2 * .pi))
        }
    }

    /// The points from the shoulder or hip through the joint to the hand or foot.
    typealias Limb = [Point]

    let head: Point
    let neck: Point
    let hip: Point
    let arms: [Limb]
    let legs: [Limb]
    static let headRadius = 0.095

    init(_ tag: PoseTag, _ random: inout SplitMix64) {
        func about(_ turns: Double, _ spread: Double = 0.03) -> Double {
            turns + Double.random(in: -spread...spread, using: &random)
        }
        let isMirrored = Bool.random(using: &random)
        let side = isMirrored ? -1.0 : 1.0
        let stance = Stance(tag)
        hip = Point(x: 0.5, y: stance.hip + Double.random(in: -0.02...0.02, using: &random))
        neck = hip.going(0.27, 0.5 + about(stance.lean) * side)
        head = neck.going(0.13, 0.5 + about(stance.tilt) * side)
        let (hip, neck) = (hip, neck)
        arms = [-1.0, 1.0].map { hand in
            let turns = hand == side ? stance.leadingArm : stance.otherArm
            let elbow = neck.going(0.15, about(turns.upper) * hand)
            return [neck, elbow, elbow.going(0.15, about(turns.lower) * hand)]
        }
        legs = [-1.0, 1.0].map { foot in
            let turns = foot == side ? stance.leadingLeg : stance.otherLeg
            let knee = hip.going(0.2, about(turns.upper, 0.015) * foot)
            return [hip, knee, knee.going(0.2, about(turns.lower, 0.015) * foot)]
        }
    }
}

/// The directions of each limb's two parts, in turns.
private struct Stance {
    typealias Bend = (upper: Double, lower: Double)

    var hip = 0.6
    var lean = 0.0
    var tilt = 0.0
    var leadingArm: Bend = (0.1, 0.03)
    var otherArm: Bend = (0.1, 0.03)
    var leadingLeg: Bend = (0.04, 0.01)
    var otherLeg: Bend = (0.04, 0.01)

    init(_ tag: PoseTag) {
        switch tag {
        case .jump:
            hip = 0.47
            (leadingArm, otherArm) = ((0.37, 0.45), (0.36, 0.42))
            (leadingLeg, otherLeg) = ((0.15, -0.06), (0.1, -0.16))
        case .hearts:
            tilt = 0.03
            (leadingArm, otherArm) = ((0.33, 0.62), (0.33, 0.62))
        case .wave:
            lean = 0.015
            (leadingArm, otherArm) = ((0.3, 0.48), (0.13, -0.12))
        case .seated:
            hip = 0.78
            (leadingArm, otherArm) = ((0.11, 0.3), (0.11, -0.05))
            (leadingLeg, otherLeg) = ((0.2, 0.02), (0.24, 0.05))
        case .dance:
            (lean, tilt) = (0.03, -0.03)
            (leadingArm, otherArm) = ((0.27, 0.4), (0.2, 0.05))
            (leadingLeg, otherLeg) = ((0.1, -0.04), (0.02, 0.01))
        }
    }
}
