// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Entries of rows that this device did not know before, collected until they are written to `optimist_remote`.
///
/// One statement writes many of them. With a statement for each entry, SQLite took half as long again.
struct FreshEntries {
    private static let columns = ["tbl", "id"] + RowEntryTable.remoteColumns
    /// How many entries one statement writes. A snapshot's rows that fit as they come are applied in batches of this
    /// size, and a write of the app waits for one batch at most.
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
            INSERT INTO optimist_remote(\(columns.joined(separator: ", ")))
            VALUES \(repeatElement(row, count: count).joined(separator: ", "))
            """
    }

    /// - Parameter entry: A value for each column.
    mutating func add(_ entry: [DatabaseValue]) { entries.append(entry) }

    mutating func write() throws {
        if entries.isEmpty { return }
        defer { entries.removeAll(keepingCapacity: true) }
        var rest = entries[...]
        while rest.count >= Self.together {
            // Few transactions gather so many, so the statement is prepared when it is needed.
            try RowStatement(Self.insertingMany, in: db).execute(Array(rest.prefix(Self.together).joined()))
            rest = rest.dropFirst(Self.together)
        }
        for entry in rest { try one.execute(entry) }
    }
}
