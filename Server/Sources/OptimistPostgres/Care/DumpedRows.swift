// This source file is part of the Optimist open source project, under the MIT licence.

/// Counts the rows of each table in the output of `pg_restore`, whose `COPY` blocks have one line for each row.
struct DumpedRows {
    /// The row counts by table name, without the schema.
    private(set) var counts: [String: Int] = [:]
    private var line: [UInt8] = []
    private var table: String?

    /// Only rows have longer lines. Keeps just the beginning of those.
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
            // Optimist's names need no quotes, but the schema's name may contain any character.
            guard let found = words.firstMatch(of: /\.(optimist_[a-z_]+) \(/) else { return }
            self.table = String(found.1)
            counts[String(found.1)] = 0
            return
        }
        if line.elementsEqual("\\.".utf8) { self.table = nil } else { counts[table, default: 0] += 1 }
    }
}
