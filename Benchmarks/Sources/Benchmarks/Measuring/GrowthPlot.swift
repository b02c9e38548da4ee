// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A log-log plot of the cost of a row by the number of rows in the table.
struct GrowthPlot {
    struct Point {
        /// The name of the point's line.
        let name: String
        let rows: Int
        let seconds: Double
    }

    private let lines: [(name: String, points: [Point])]
    private let width = 720.0
    private let height = 420.0
    private let left = 70.0
    private let right = 110.0
    private let top = 20.0
    private let bottom = 50.0

    init(_ points: [Point]) {
        let names = points.reduce(into: [String]()) { names, point in
            if !names.contains(point.name) { names.append(point.name) }
        }
        lines = names.map { name in (name, points.filter { $0.name == name }) }
    }

    var svg: String {
        let colours = ["#0a6", "#06c", "#c40"]
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" font-family="sans-serif" font-size="13">
            <rect width="\(width)" height="\(height)" fill="white"/>
            """
        ]
        for micros in [10.0, 100, 1_000] {
            let y = self.y(micros / 1e6)
            parts.append(#"<line x1="\#(left)" x2="\#(width - right)" y1="\#(y)" y2="\#(y)" stroke="lightgrey"/>"#)
            parts.append(text("\(grouped(micros)) µs", x: left - 8, y: y + 4, anchor: "end"))
        }
        for rows in [1_000, 10_000, 100_000, 1_000_000] {
            parts.append(text(grouped(Double(rows)), x: x(rows), y: height - bottom + 22, anchor: "middle"))
        }
        parts.append(text("synced rows in the table", x: (left + width - right) / 2, y: height - 8, anchor: "middle"))
        for (line, colour) in zip(lines, colours) {
            let path = line.points.map { "\(x($0.rows)),\(y($0.seconds))" }.joined(separator: " ")
            parts.append(#"<polyline points="\#(path)" fill="none" stroke="\#(colour)" stroke-width="2"/>"#)
            for point in line.points {
                parts.append(#"<circle cx="\#(x(point.rows))" cy="\#(y(point.seconds))" r="3.5" fill="\#(colour)"/>"#)
            }
            if let last = line.points.last {
                parts.append(text(line.name, x: x(last.rows) + 10, y: y(last.seconds) + 4, anchor: "start"))
            }
        }
        return parts.joined(separator: "\n") + "\n</svg>\n"
    }

    private func text(_ text: String, x: Double, y: Double, anchor: String) -> String {
        #"<text x="\#(x)" y="\#(y)" text-anchor="\#(anchor)">\#(text)</text>"#
    }

    private func x(_ rows: Int) -> Double { left + (width - left - right) * (log10(Double(rows)) - 3) / 3 }

    /// From ten microseconds at the bottom to three milliseconds at the top.
    private func y(_ seconds: Double) -> Double {
        let share = (log10(seconds * 1e6) - 1) / (log10(3_000) - 1)
        return height - bottom - (height - top - bottom) * min(max(share, 0), 1)
    }
}
