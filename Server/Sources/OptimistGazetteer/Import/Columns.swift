// This source file is part of the Optimist open source project, under the MIT licence.

/// The tab-separated columns of one line.
struct Columns {
    private var line: ArraySlice<UInt8> = []
    /// The end of each column. The array is reused for each line.
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func load(_ line: ArraySlice<UInt8>) {
        self.line = line
        ends.removeAll(keepingCapacity: true)
        for index in line.indices where line[index] == UInt8(ascii: "\t") { ends.append(index) }
        ends.append(line.endIndex)
    }

    subscript(_ index: Int) -> ArraySlice<UInt8> {
        line[(index == 0 ? line.startIndex : ends[index - 1] + 1)..<ends[index]]
    }

    /// - Throws: ``LineProblem`` if the column is not UTF-8.
    func text(_ index: Int) throws -> String {
        guard let text = String(validating: self[index], as: UTF8.self) else {
            throw LineProblem("column \(index + 1) is not UTF-8")
        }
        return text
    }

    /// - Throws: ``LineProblem`` if the column is not UTF-8 or is empty.
    func name(_ index: Int) throws -> String {
        let name = try text(index)
        guard !name.isEmpty else { throw LineProblem("column \(index + 1), the name, is empty") }
        return name
    }

    /// - Throws: ``LineProblem`` if the column is not an integer.
    func integer(_ index: Int) throws -> Int64 {
        guard let number = Int64(try text(index)) else {
            throw LineProblem("column \(index + 1) is not an integer")
        }
        return number
    }

    /// - Throws: ``LineProblem`` if the column is not a number.
    func number(_ index: Int) throws -> Double {
        guard let number = Double(try text(index)) else { throw LineProblem("column \(index + 1) is not a number") }
        return number
    }

    func isSet(_ index: Int) -> Bool { self[index].elementsEqual(CollectionOfOne(UInt8(ascii: "1"))) }
}

struct LineProblem: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}
