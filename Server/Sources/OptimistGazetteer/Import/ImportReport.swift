// This source file is part of the Optimist open source project, under the MIT licence.

/// What an import has found.
public struct ImportReport: Sendable {
    /// Populated places, sections among them.
    public internal(set) var places = 0
    /// Sections that stand for a place.
    public internal(set) var sections = 0
    public internal(set) var areas = 0
    /// Names in a language, of places and areas. One for each in each language.
    public internal(set) var names = 0
    /// For each file what of it could not be read.
    public internal(set) var unreadable: [UnreadableLines] = []
    public internal(set) var source: GazetteerSource
}

/// The lines of a file that could not be read. They were passed over.
public struct UnreadableLines: Sendable {
    public struct Line: Sendable {
        /// Counted from 1.
        public let line: Int
        /// What is wrong with it, as the end of a sentence.
        public let reason: String
    }

    /// The file's name.
    public let file: String
    public private(set) var count = 0
    /// The first of them, 20 at most.
    public private(set) var first: [Line] = []

    init(file: String) { self.file = file }

    mutating func add(line: Int, reason: String) {
        count += 1
        if first.count < 20 { first.append(Line(line: line, reason: reason)) }
    }
}
