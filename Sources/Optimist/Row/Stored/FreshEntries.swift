// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Collects the entries of new rows, and writes many to `optimist_remote` with one statement. One statement per entry
/// took 50% longer.
struct FreshEntries {
    private static let columns = ["tbl", "id"] + RowEntryTable.remoteColumns
    /// The number of entries in one statement. Snapshot rows are applied in batches of this size, so a write of the app
    /// waits for one batch at most.
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

    mutating func add(_ entry: [DatabaseValue]) { entries.append(entry) }

    mutating func write() throws {
        if entries.isEmpty { return }
        defer { entries.removeAll(keepingCapacity: true) }
        var rest = entries[...]
        while rest.count >= Self.together {
            // Few transactions collect this many.
            try RowStatement(Self.insertingMany, in: db).execute(Array(rest.prefix(Self.together).joined()))
            rest = rest.dropFirst(Self.together)
        }
        for entry in rest { try one.execute(entry) }
    }
}
