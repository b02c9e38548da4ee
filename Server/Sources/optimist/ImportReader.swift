// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

/// Reads the batches of a file, and refuses lines whose row an earlier line has.
struct ImportReader: ~Copyable {
    private var file: ImportFile
    private let empty: ImportBatch
    private var rows = NamedRows()
    /// Why the rest of the file cannot be read. The batches have all lines before it.
    private(set) var trouble: (any Error)?

    /// The rows of a batch are sorted by account. The more rows it has, the more of them share an account's transaction.
    private static let maxRows = 32_000
    private static let maxBytes = 16 << 20

    /// - Parameter empty: A batch without lines.
    init(_ file: consuming ImportFile, _ empty: ImportBatch) {
        self.file = file
        self.empty = empty
    }

    /// A batch without lines: the file has ended, or the rest cannot be read.
    mutating func next() -> ImportBatch {
        var batch = empty
        var bytes = 0
        do {
            while trouble == nil, batch.lines.count < Self.maxRows, bytes < Self.maxBytes, var line = try file.row() {
                rows.check(&line, of: empty)
                bytes += line.text.utf8.count
                batch.lines.append(line)
            }
        } catch {
            trouble = error
        }
        return batch
    }
}
