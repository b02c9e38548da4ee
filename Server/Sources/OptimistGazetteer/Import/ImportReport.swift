// This source file is part of the Optimist open source project, under the MIT licence.

/// The results of an import.
package struct ImportReport: Sendable {
    /// How many populated places there are, sections included.
    package internal(set) var places = 0
    /// How many sections stand for a place.
    package internal(set) var sections = 0
    /// How many administrative areas there are.
    package internal(set) var areas = 0
    /// How many names in a language there are, of places and areas: one for each in each language.
    package internal(set) var names = 0
    /// The unreadable lines of each file that has some.
    package internal(set) var unreadable: [UnreadableLines] = []
    /// Where the data is from.
    package internal(set) var source: GazetteerSource
}

/// The lines of a file that could not be read. The import skipped them.
package struct UnreadableLines: Sendable {
    /// One line.
    package struct Line: Sendable {
        /// Counted from 1.
        package let line: Int
        /// The fault, as the end of a sentence.
        package let reason: String
    }

    /// The file's name.
    package let file: String
    /// How many lines could not be read.
    package private(set) var count = 0
    /// The first 20 of them.
    package private(set) var first: [Line] = []

    init(file: String) { self.file = file }

    mutating func add(line: Int, reason: String) {
        count += 1
        if first.count < 20 { first.append(Line(line: line, reason: reason)) }
    }
}
