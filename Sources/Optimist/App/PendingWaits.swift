// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// Why pending rows wait, individually or with their groups.
struct PendingWaits {
    private struct Wait {
        var due: Int64
        var reason: DeferralReason?
    }

    private let offset: Int64
    private var groups: [Int64: Wait] = [:]
    private var rows: [RowRef: Wait] = [:]

    init(_ db: Database) throws {
        offset = try Meta.int(.clockOffset, in: db) ?? 0
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT e.tbl, e.id, e.grp, e.due, e.blocked IS NOT NULL, w.code, w.columnName FROM optimist_edit e
                LEFT JOIN optimist_wait w ON w.tbl = e.tbl AND w.id = e.id AND w.due = e.due WHERE e.due IS NOT NULL
                """)
        for row in found {
            let (isBlocked, noted): (Bool, String?) = (row[4], row[5])
            // A noted reason says more than that the row waits for another one.
            let code = noted ?? (isBlocked ? "blocked" : nil)
            let wait = Wait(due: row[3], reason: code.map { DeferralReason($0, column: row[6]) })
            rows[RowRef(table: row[0], id: row[1])] = wait
            let group: Int64 = row[2]
            if wait.due > groups[group]?.due ?? .min { groups[group] = wait }
        }
    }

    /// Returns why a row waits and when it is sent again: never before the other rows of its group.
    func wait(of entry: RowEntry) -> (reason: DeferralReason?, until: Date)? {
        let group = entry.local.flatMap { groups[$0.group.rawValue] }
        guard let wait = rows[entry.ref] ?? group else { return nil }
        return (wait.reason, Date(milliseconds: max(wait.due, group?.due ?? wait.due), aheadBy: offset))
    }
}

extension Date {
    /// - Parameter offset: How far the clock that gave `milliseconds` is ahead of this device's clock, in milliseconds.
    init(milliseconds: Int64, aheadBy offset: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds - offset) / 1000)
    }
}
