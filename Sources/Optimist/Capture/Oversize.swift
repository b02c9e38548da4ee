// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import GRDBSQLite
import OptimistCore
@_spi(Internals) import OptimistWire

/// A row that is too large to send. The store refuses it at the write, before it is queued (S9).
///
/// The weight is the approximate size of the row's texts and blobs on the wire. A row that is already too large, for
/// example from a server with a higher limit, may be edited as long as it does not grow.
struct Oversize: Equatable, Sendable {
    /// The message of SQLite's error.
    static let message = "a row is larger than the server accepts"

    let table: Int64
    let bytes: Int

    init(table: Int64, bytes: Int) {
        self.table = table
        self.bytes = bytes
    }

    init?(_ row: WrittenRow) {
        let bytes = Self.weight(row.values)
        guard bytes > RowSync.Limit.rowBytes, bytes > Self.weight(row.former) else { return nil }
        self.init(table: row.table, bytes: bytes)
    }

    /// Reads no content, because SQLite knows the lengths of UTF-8 texts and blobs. On the wire, blobs are base64.
    private static func weight(_ values: WrittenRow.Values) -> Int {
        values.reduce(0) { sum, value in
            switch sqlite3_value_type(value) {
            case SQLITE_TEXT: sum + Int(sqlite3_value_bytes(value))
            case SQLITE_BLOB: sum + Int(sqlite3_value_bytes(value)) * 4 / 3
            default: sum
            }
        }
    }

    /// The app gets this error instead of SQLite's.
    func error(in layouts: [TableLayout]) -> OptimistError {
        let name = layouts.first { $0.number == table }?.name ?? "a table"
        return OptimistError(
            .rowTooLarge,
            "A row of \(name) would have \(bytes) bytes; the server accepts \(RowSync.Limit.rowBytes). Nothing was "
                + "written: shorten the row, or store large values elsewhere and their addresses in the row.")
    }
}
