// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Draws a pose as an SVG, with enough pencil strokes to make the file as large as a small photo.
///
/// > Source: Scalable Vector Graphics (SVG) 2, W3C, sections 9 (paths) and 10 (basic shapes).
struct PoseDrawing {
    private let pose: Pose
    private let seed: UInt64

    init(_ pose: Pose, seed: UInt64) { (self.pose, self.seed) = (pose, seed) }

    private struct Frame {
        let x, y, width, height: Double
    }

    var svg: String {
        var random = SplitMix64(seed: seed ^ 0x5EED)
        let look = Look.all[Int.random(in: 0..<Look.all.count, using: &random)]
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(pose.width)" height="\(pose.height)" \
            viewBox="0 0 \(pose.width) \(pose.height)">
            """,
            "<rect width=\"100%\" height=\"100%\" fill=\"\(look.paper)\"/>",
        ]
        let tags = pose.tags.compactMap(PoseTag.init)
        for (number, frame) in frames.enumerated() {
            parts += scene(in: frame, tags[number % max(tags.count, 1)], look, &random)
        }
        parts.append("</svg>")
        return parts.joined(separator: "\n")
    }

    private var frames: [Frame] {
        let (columns, rows) =
            switch pose.frames {
            case 1: (1, 1)
            case 2: (1, 2)
            default: (2, 2)
            }
        let gap = 16.0
        let width = (Double(pose.width) - gap * Double(columns + 1)) / Double(columns)
        let height = (Double(pose.height) - gap * Double(rows + 1)) / Double(rows)
        return (0..<rows).flatMap { row in
            (0..<columns).map { column in
                Frame(
                    x: gap + Double(column) * (width + gap), y: gap + Double(row) * (height + gap), width: width,
                    height: height)
            }
        }
    }

    private func scene(in frame: Frame, _ tag: PoseTag, _ look: Look, _ random: inout SplitMix64) -> [String] {
        let people = max(pose.people ?? 1, 1)
        let size = min(frame.height * 0.86, frame.width / (0.36 + 0.42 * Double(people)))
        let ground = frame.height * 0.95
        var parts = [
            "<svg x=\"\(frame.x)\" y=\"\(frame.y)\" width=\"\(frame.width)\" height=\"\(frame.height)\">",
            "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"\(look.wall)\"/>",
            """
            <circle cx="\(text(frame.width * Double.random(in: 0.15...0.85, using: &random)))" \
            cy="\(text(frame.height * 0.3))" r="\(text(frame.height * 0.22))" fill="\(look.sun)"/>
            """,
            """
            <rect y="\(text(ground - size * 0.06))" width="100%" height="100%" fill="\(look.floor)"/>
            """,
            strokes(frame, look, &random),
        ]
        let step = size * 0.42
        let first = frame.width / 2 - step * Double(people - 1) / 2 - size / 2
        for person in 0..<people {
            let figure = Figure(tag, &random)
            let clothes = look.clothes[(person + Int.random(in: 0...1, using: &random)) % look.clothes.count]
            let height = size * Double.random(in: 0.9...1, using: &random)
            let place =
                "translate(\(text(first + step * Double(person))) \(text(ground - height))) scale(\(text(height)))"
            parts.append("<g transform=\"\(place)\">" + body(figure, clothes, look, &random) + "</g>")
        }
        if tag == .hearts { parts.append(heart(frame, look, &random)) }
        parts.append("</svg>")
        return parts
    }

    private func body(_ figure: Figure, _ clothes: String, _ look: Look, _ random: inout SplitMix64) -> String {
        let skin = look.skins[Int.random(in: 0..<look.skins.count, using: &random)]
        let hair = look.hair[Int.random(in: 0..<look.hair.count, using: &random)]
        let radius = Figure.headRadius
        func line(_ points: [Figure.Point], _ width: Double, _ color: String) -> String {
            let path = points.map { "\(text($0.x)),\(text($0.y))" }.joined(separator: " ")
            return """
                <polyline points="\(path)" fill="none" stroke="\(color)" stroke-width="\(width)" \
                stroke-linecap="round" stroke-linejoin="round"/>
                """
        }
        func circle(_ center: Figure.Point, _ radius: Double, _ color: String) -> String {
            "<circle cx=\"\(text(center.x))\" cy=\"\(text(center.y))\" r=\"\(text(radius))\" fill=\"\(color)\"/>"
        }
        var parts = figure.legs.map { line($0, 0.07, look.ink) }
        parts.append(line([figure.neck, figure.hip], 0.15, clothes))
        for arm in figure.arms {
            parts.append(line(arm, 0.055, clothes))
            parts += arm.suffix(1).map { circle($0, 0.035, skin) }
        }
        parts.append(circle(Figure.Point(x: figure.head.x, y: figure.head.y - 0.022), radius * 1.1, hair))
        parts.append(circle(Figure.Point(x: figure.head.x, y: figure.head.y + 0.012), radius * 0.9, skin))
        for eye in [-0.032, 0.032] {
            parts.append(circle(Figure.Point(x: figure.head.x + eye, y: figure.head.y + 0.005), 0.009, look.ink))
        }
        let (x, y) = (figure.head.x, figure.head.y + 0.04)
        parts.append(
            """
            <path d="M\(text(x - 0.028)) \(text(y))Q\(text(x)) \(text(y + 0.03)) \(text(x + 0.028)) \(text(y))" \
            fill="none" stroke="\(look.ink)" stroke-width="0.011" stroke-linecap="round"/>
            """)
        return parts.joined()
    }

    private func heart(_ frame: Frame, _ look: Look, _ random: inout SplitMix64) -> String {
        let (x, y) = (frame.width * Double.random(in: 0.3...0.7, using: &random), frame.height * 0.1)
        let size = frame.height * 0.05
        return """
            <path d="M\(text(x)) \(text(y + size))c\(text(-size * 2)) \(text(-size * 1.2)) \(text(-size)) \
            \(text(-size * 2.4)) 0 \(text(-size * 1.2))c\(text(size)) \(text(-size * 1.2)) \(text(size * 2)) 0 0 \
            \(text(size * 1.2))z" fill="\(look.accent)"/>
            """
    }

    private func strokes(_ frame: Frame, _ look: Look, _ random: inout SplitMix64) -> String {
        let count = 2_600 / pose.frames
        var path = ""
        for _ in 0..<count {
            let (x, y) = (
                Int.random(in: 0...Int(frame.width), using: &random),
                Int.random(in: 0...Int(frame.height), using: &random)
            )
            path += "M\(x) \(y)l\(Int.random(in: 6...13, using: &random)) \(Int.random(in: -11 ... -6, using: &random))"
        }
        return "<path d=\"\(path)\" stroke=\"\(look.ink)\" stroke-opacity=\"0.07\" stroke-width=\"1.4\"/>"
    }

    private func text(_ number: Double) -> String { String((number * 1000).rounded() / 1000) }
}

private struct Look {
    let paper, wall, floor, sun, ink, accent: String
    let clothes: [String]
    let skins = ["#f3c9a5", "#dba77c", "#b97a4e", "#8a5433", "#f6d7bd"]
    let hair = ["#2d2320", "#5b3a25", "#a8682f", "#171a20", "#c9a05a"]

    static let all = [
        Look(
            paper: "#fffaf0", wall: "#f6e3c5", floor: "#e3c79b", sun: "#ffd479", ink: "#3c3a3f", accent: "#d8564a",
            clothes: ["#2f7f6d", "#d8564a", "#e9a23b", "#4b6fa8"]),
        Look(
            paper: "#f7fbff", wall: "#cfe3f2", floor: "#a9c7dc", sun: "#fff3c9", ink: "#2f3a48", accent: "#e2637f",
            clothes: ["#e2637f", "#33658a", "#f2a541", "#5d8a5a"]),
        Look(
            paper: "#fdf7fb", wall: "#f3d6e1", floor: "#dcb1c3", sun: "#fff0f5", ink: "#473341", accent: "#c9375b",
            clothes: ["#7a4b94", "#3a7d8c", "#f08a5d", "#c9375b"]),
        Look(
            paper: "#f8fbf4", wall: "#d5e6c8", floor: "#aac792", sun: "#fdf2a7", ink: "#303b2f", accent: "#d1603d",
            clothes: ["#d1603d", "#2a6f97", "#f0c24b", "#6b4e71"]),
        Look(
            paper: "#1f2433", wall: "#343b57", floor: "#262c44", sun: "#f5e7b8", ink: "#10131d", accent: "#ff7b72",
            clothes: ["#ff7b72", "#79c0ff", "#f2cc60", "#7ee787"]),
    ]
}
