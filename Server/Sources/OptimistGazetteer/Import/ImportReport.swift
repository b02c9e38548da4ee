// This source file is part of the Optimist open source project, under the MIT licence.

package struct ImportReport: Sendable {
    /// The number of populated places, including sections.
    package internal(set) var places = 0
    /// The number of sections that were assigned to a place.
    package internal(set) var sections = 0
    package internal(set) var areas = 0
    /// The number of names: at most one per language for each place or area.
    package internal(set) var names = 0
    package internal(set) var unreadable: [UnreadableLines] = []
    package internal(set) var source: GazetteerSource
}

/// The lines of a file that could not be read. The import skipped them.
package struct UnreadableLines: Sendable {
    package struct Line: Sendable {
        /// Counted from 1.
        package let line: Int
        /// The reason, as the end of a sentence.
        package let reason: String
    }

    package let file: String
    package private(set) var count = 0
    /// The first 20 unreadable lines.
    package private(set) var first: [Line] = []

    init(file: String) { self.file = file }

    mutating func add(line: Int, reason: String) {
        count += 1
        if first.count < 20 { first.append(Line(line: line, reason: reason)) }
    }
}
