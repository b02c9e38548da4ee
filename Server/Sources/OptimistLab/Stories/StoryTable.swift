// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistProxy

package struct StoryTable: Sendable {
    private let figures: [StoryFigure]

    package init(_ figures: [StoryFigure]) { self.figures = figures }

    package var markdown: String {
        var rows = [["", "network", "the old way", "Optimist"]]
        for measure in StoryFigure.Measure.allCases {
            for (number, figure) in figures.filter({ $0.measure == measure }).enumerated() {
                rows.append([
                    number == 0 ? "\(measure.story). \(measure.title)" : "", figure.network.title,
                    figure.text(figure.oldWay), figure.text(figure.optimist),
                ])
            }
        }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { row in
            "| " + zip(row, widths).map { $0.padding(to: $1) }.joined(separator: " | ") + " |"
        }
        lines.insert("|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|", at: 1)
        return lines.joined(separator: "\n")
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
