// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The age of the oldest pending row, which a push tells the server's operator.
enum OldestPending {
    /// The time since the oldest group began, in whole seconds. Nil: nothing is pending.
    ///
    /// - Parameter now: Milliseconds since 1970. An earlier time than the group's counts as the group's.
    static func seconds(at now: Int64, _ db: Database) throws -> Int64? {
        let statement = try db.cachedStatement(sql: "SELECT min(grp) FROM optimist_edit")
        guard let group = try Int64.fetchOne(statement) else { return nil }
        return max(0, now - Stamp(rawValue: group).milliseconds) / 1000
    }
}
