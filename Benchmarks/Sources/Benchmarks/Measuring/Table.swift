// This source file is part of the Optimist open source project, under the MIT licence.

struct Table {
    private static let widths = [46, 30, 48, 5, 16, 6]

    func printHead() {
        printLine(["figure", "Optimist: median", "beside it", "ratio", "target", ""])
        print(Self.widths.map { String(repeating: "─", count: $0) }.joined(separator: "  "))
    }

    func printLine(of figure: Figure) {
        printLine([
            figure.name, figure.measured.description, figure.rival.map { "\($0.name): \($0.measure)" } ?? "",
            figure.ratio?.formatted(decimals: 2) ?? "", figure.target?.description ?? "",
            figure.target.map { $0.isMet(by: figure) ? "met" : "missed" } ?? "",
        ])
    }

    private func printLine(_ cells: [String]) {
        let padded = zip(cells, Self.widths).map { cell, width in
            cell + String(repeating: " ", count: max(0, width - cell.count))
        }
        print(padded.joined(separator: "  "))
    }
}
