// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The age of the oldest pending row. A push reports it to the server's operator.
enum OldestPending {
    /// In whole seconds. Nil if nothing is pending.
    ///
    /// - Parameter now: Milliseconds since 1970.
    static func seconds(at now: Int64, _ db: Database) throws -> Int64? {
        let statement = try db.cachedStatement(sql: "SELECT min(grp) FROM optimist_edit")
        guard let group = try Int64.fetchOne(statement) else { return nil }
        return max(0, now - Stamp(rawValue: group).milliseconds) / 1000
    }
}
