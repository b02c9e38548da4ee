// This source file is part of the Optimist open source project, under the MIT licence.

/// Counts the rows of each table in the data of a dump, as `pg_restore` prints it: `COPY` blocks of a line for each row.
struct DumpedRows {
    /// The rows by the names of their tables, without the schema.
    private(set) var counts: [String: Int] = [:]
    private var line: [UInt8] = []
    private var table: String?

    /// Longer lines are rows: only the beginning of one is kept.
    private static let longest = 1_000

    mutating func read(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                end()
                line.removeAll(keepingCapacity: true)
            } else if line.count < Self.longest {
                line.append(byte)
            }
        }
    }

    private mutating func end() {
        guard let table else {
            guard line.starts(with: "COPY ".utf8) else { return }
            let words = String(decoding: line, as: UTF8.self)
            // Our names need no quotes, and the schema's name may have any character.
            guard let found = words.firstMatch(of: /\.(optimist_[a-z_]+) \(/) else { return }
            self.table = String(found.1)
            counts[String(found.1)] = 0
            return
        }
        if line.elementsEqual("\\.".utf8) { self.table = nil } else { counts[table, default: 0] += 1 }
    }
}
