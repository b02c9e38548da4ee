// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistProxy
import Testing

@testable import OptimistLab

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// The figures of the five stories, as they are shown.
@Suite(.timeLimit(.minutes(20)))
struct StoryTests {
    let figures = [
        StoryFigure(measure: .todoShown, network: .threeG, oldWay: 1080.4, optimist: 1.84),
        StoryFigure(measure: .todoShown, network: .flaky, oldWay: nil, optimist: 12),
        StoryFigure(measure: .fetchesPerThing, network: .threeG, oldWay: 1.426, optimist: 1),
    ]

    @Test func `a table names each measure once, and contains the word never if an event did not happen`() {
        #expect(
            StoryTable(figures).markdown == """
                |                                                      | network | the old way | Optimist |
                |------------------------------------------------------|---------|-------------|----------|
                | 1. Time until a new to-do is on the screen           | 3G      | 1080 ms     | 1.8 ms   |
                |                                                      | flaky   | never       | 12 ms    |
                | 5. Requests for each picture and place name, swiping | 3G      | 1.43        | 1        |
                """)
    }

    @Test func `a plot has two bars for each figure, none longer than its space`() throws {
        let svg = StoryPlot(figures).svg
        let widths = svg.matches(of: /class="(?:old|new)" x="94.0" y="[\d.]+" width="(\d+)"/).map { Int($0.output.1) }
        #expect(widths.count == 6 && widths.allSatisfy { (0...672).contains($0 ?? -1) })
        #expect(XMLParser(data: Data(svg.utf8)).parse())
    }
}
