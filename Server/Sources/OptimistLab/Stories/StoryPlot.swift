// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistProxy

/// A bar chart of the stories' figures, in SVG.
package struct StoryPlot: Sendable {
    private let figures: [StoryFigure]

    package init(_ figures: [StoryFigure]) { self.figures = figures }

    private enum Size {
        static let width = 880.0
        static let name = 70.0
        static let bar = 11.0
        static let value = 90.0
        static let margin = 24.0
    }

    package var svg: String {
        var parts: [String] = []
        var y = 64.0
        for measure in StoryFigure.Measure.allCases {
            let own = figures.filter { $0.measure == measure }
            if own.isEmpty { continue }
            parts.append(Self.text(Size.margin, y, "\(measure.story). \(measure.title)", "title"))
            y += 12
            let most = own.flatMap { [$0.oldWay, $0.optimist] }.compactMap(\.self).max() ?? 0
            for figure in own {
                parts.append(Self.text(Size.margin, y + Size.bar + 4, figure.network.title, "name"))
                parts += bar(figure, figure.oldWay, of: most, at: y, "old")
                parts += bar(figure, figure.optimist, of: most, at: y + Size.bar + 2, "new")
                y += 2 * Size.bar + 10
            }
            y += 26
        }
        let head = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Size.width))" height="\(Int(y))" \
            viewBox="0 0 \(Int(Size.width)) \(Int(y))" role="img" aria-label="The five stories, the old way and Optimist">
            <style>
            text { font: 13px system-ui, sans-serif; fill: #20241f }
            .title { font-weight: 650 } .name, .value { font-size: 12px } .value { fill: #5f665f }
            .old { fill: #c98a3b } .new { fill: #22664f } .paper { fill: #fffdf9 }
            @media (prefers-color-scheme: dark) {
              text { fill: #e9ebe6 } .value { fill: #a0a9a1 } .old { fill: #f2bd5c } .new { fill: #7fd0b2 } .paper { fill: #1e2120 }
            }
            </style>
            <rect class="paper" width="100%" height="100%" rx="12"/>
            """
        let legend = [
            "<rect class=\"old\" x=\"24\" y=\"20\" width=\"22\" height=\"11\" rx=\"3\"/>",
            Self.text(52, 30, "the old way", "name"),
            "<rect class=\"new\" x=\"150\" y=\"20\" width=\"22\" height=\"11\" rx=\"3\"/>",
            Self.text(178, 30, "Optimist", "name"),
        ]
        return ([head] + legend + parts + ["</svg>", ""]).joined(separator: "\n")
    }

    private func bar(
        _ figure: StoryFigure, _ value: Double?, of most: Double, at y: Double, _ style: String
    ) -> [String] {
        let room = Size.width - Size.name - Size.value - 2 * Size.margin
        let length = value.map { most > 0 ? max($0 / most * room, $0 > 0 ? 2 : 0) : 0 } ?? 0
        let x = Size.margin + Size.name
        return [
            "<rect class=\"\(style)\" x=\"\(x)\" y=\"\(y)\" width=\"\(Int(length))\" height=\"\(Size.bar)\" rx=\"3\"/>",
            Self.text(x + Double(Int(length)) + 6, y + Size.bar - 1, figure.text(value), "value"),
        ]
    }

    private static func text(_ x: Double, _ y: Double, _ text: String, _ style: String) -> String {
        "<text class=\"\(style)\" x=\"\(x)\" y=\"\(y)\">\(text)</text>"
    }
}
