// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// The server's versions that a device had read when its user wrote: the causality of a write.
struct Reading {
    /// The last position of each table that the device has received completely. Missing: none.
    var positions: [String: Int64] = [:]
    /// The device does not know the rows that were deleted up to this position.
    var starts: [String: Int64] = [:]
    /// The rows whose received versions wait, so that the table shows earlier ones.
    var parked: Set<RowName> = []

    init() {}

    init(of db: Database) throws {
        for table in try Row.fetchAll(db, sql: "SELECT name, cursor, since FROM optimist_table WHERE isComplete") {
            positions[table[0]] = (table[1] as String?).flatMap(SyncState.init)?.seq
            starts[table[0]] = table[2]
        }
        parked = try Rows.names(
            db, "SELECT t.name, p.id FROM optimist_parked p JOIN optimist_table t ON t.number = p.tbl")
    }

    /// Up to which position the device knows the row's versions.
    func position(of row: RowName, in log: ServerLog) -> Int64 {
        let position = parked.contains(row) ? 0 : positions[row.table] ?? 0
        guard let version = log.version(of: row, at: position), version.row.values == nil else { return position }
        return version.position <= starts[row.table] ?? .max ? 0 : position
    }
}
