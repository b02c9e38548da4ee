// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Entries of rows that this device did not know before, on their way to `optimist_row`.
///
/// They are written many at a time: a statement for each took SQLite half as long again.
struct FreshEntries {
    private static let columns = ["tbl", "id", "generation", "acked", "seq", "clock", "node", "clocks", "known"]
    /// So many make a statement. A write of the app's waits for no more rows of a snapshot that fit as they come.
    static let together = 20

    private static let insertingOne = inserting(1)
    private static let insertingMany = inserting(together)

    private let db: Database
    private let one: RowStatement
    private var entries: [[DatabaseValue]] = []

    init(_ db: Database) throws {
        self.db = db
        one = try RowStatement(Self.insertingOne, in: db)
    }

    private static func inserting(_ count: Int) -> String {
        let row = "(\(columns.map { _ in "?" }.joined(separator: ", ")))"
        return """
            INSERT INTO optimist_row(\(columns.joined(separator: ", ")))
            VALUES \(repeatElement(row, count: count).joined(separator: ", "))
            """
    }

    /// - Parameter entry: A value for each column.
    mutating func add(_ entry: [DatabaseValue]) { entries.append(entry) }

    mutating func write() throws {
        if entries.isEmpty { return }
        defer { entries.removeAll(keepingCapacity: true) }
        if entries.count == Self.together {
            // Most transactions gather none.
            try RowStatement(Self.insertingMany, in: db).execute(Array(entries.joined()))
        } else {
            for entry in entries { try one.execute(entry) }
        }
    }
}
