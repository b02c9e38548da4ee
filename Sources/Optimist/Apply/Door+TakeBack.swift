// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Returns pending rows to the server's versions (V5).
extension Door {
    /// Tries all rows together, then again with their unique values freed for an exchange, and then one by one. Server
    /// values that still do not fit are parked.
    ///
    /// - Parameter device: This device's id in the unsent edits.
    /// - Returns: The rows that could not be removed, each with the reason. They are unchanged.
    mutating func takeBack(_ rows: [TakenBack], device: String) throws -> [(row: TakenBack, reason: DatabaseError)] {
        let rows = references.order(rows)
        let refs = rows.map(\.ref)
        toReceive += rows.filter(\.mustBeReceived).map(\.ref)
        takingBack = Set(refs)
        if try attempt(deferring: true, { try $0.pass(together: rows) }) == nil { return [] }
        if try attempt(exchanging: refs, deferring: true, { try $0.pass(together: rows) }) == nil { return [] }
        defer { rowsSetAside = [] }
        return try passSingly(rows, device: device)
    }

    private mutating func pass(together rows: [TakenBack]) throws {
        for row in rows {
            try pass(row.passage)
            takingBack.remove(row.ref)
        }
    }

    /// If a removed row takes along a row that was taken back earlier, the device receives that row again.
    private mutating func passSingly(
        _ rows: [TakenBack], device: String
    ) throws -> [(row: TakenBack, reason: DatabaseError)] {
        for row in rows where row.change != .delete {
            if let obstacle = try tryPassOrWait(row) {
                _ = try setAside(row.passage, ParkedReason(obstacle), device: device)
                rowsSetAside.insert(row.ref)
            }
            takingBack.remove(row.ref)
        }
        let removed = rows.filter { $0.change == .delete }
        if try attempt(deferring: true, { try $0.pass(together: removed) }) == nil { return [] }
        var stuck: [(row: TakenBack, reason: DatabaseError)] = []
        for row in removed {
            if let obstacle = try tryPassOrWait(row) { stuck.append((row, obstacle)) }
            takingBack.remove(row.ref)
        }
        return stuck
    }

    /// A row that does not fit, but will be received again, stays in the app's table.
    private mutating func tryPassOrWait(_ row: TakenBack) throws -> DatabaseError? {
        guard let obstacle = try tryPass(row.passage) else { return nil }
        guard row.mustBeReceived else { return obstacle }
        try entries.save(row.entry)
        return nil
    }
}
