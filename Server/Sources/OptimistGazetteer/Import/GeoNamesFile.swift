// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

struct GeoNamesFile {
    let url: URL
    let kind: Kind

    enum Kind {
        case cities, areas, names

        /// The number of columns. In earlier releases, names lacked the columns with their years.
        var columns: ClosedRange<Int> {
            switch self {
            case .cities: 19...19
            case .areas: 4...4
            case .names: 8...10
            }
        }

        var expected: String {
            switch self {
            case .cities: "cities500.txt, cities1000.txt, cities5000.txt or cities15000.txt"
            case .areas: "admin1CodesASCII.txt"
            case .names: "alternateNamesV2.txt"
            }
        }
    }

    /// The import checks whether this is the right file after this many lines, and at the end.
    private static let sampleLines = 1000

    /// Calls `body` for each line, and continues if it throws a ``LineProblem``.
    ///
    /// - Returns: The lines that could not be read.
    /// - Throws: `OptimistError` with code `unreadableGeoNames` if the file cannot be read, or fewer than one in ten of
    ///   its lines can be read. `CancellationError`, or what `body` throws.
    func forEachLine(
        adding fingerprint: inout Fingerprint, _ body: (Columns) throws -> Void
    ) throws -> UnreadableLines {
        var unreadable = UnreadableLines(file: url.lastPathComponent)
        var columns = Columns()
        var count = 0
        do {
            try LineReader.forEachLine(of: url) { line, number in
                if number.isMultiple(of: 1024) { try Task.checkCancellation() }
                fingerprint.add(line)
                if line.isEmpty { return }
                count += 1
                do {
                    columns.load(line)
                    guard kind.columns.contains(columns.count) else {
                        throw LineProblem("it has \(columns.count) columns instead of \(kind.columns.upperBound)")
                    }
                    try body(columns)
                } catch let problem as LineProblem {
                    unreadable.add(line: number, reason: problem.reason)
                }
                if count == Self.sampleLines { try check(unreadable, of: count) }
            }
        } catch let error as POSIXError {
            throw OptimistError(
                .unreadableGeoNames, "\(url.path) cannot be read: \(String(cString: strerror(error.code.rawValue))).",
                cause: error)
        }
        try check(unreadable, of: count)
        return unreadable
    }

    private func check(_ unreadable: UnreadableLines, of count: Int) throws {
        if (count - unreadable.count) * 10 >= max(count, 1) { return }
        let problem = unreadable.first.first.map { "Line \($0.line) cannot be read: \($0.reason)." } ?? "It is empty."
        throw OptimistError(
            .unreadableGeoNames,
            """
            \(url.path) is not the expected file, \(kind.expected), unpacked, from \
            https://download.geonames.org/export/dump/. \(problem)
            """)
    }
}
