// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

extension OnePerson {
    func judgeNow(_ device: SimulatedDevice, _ db: Database) throws {
        let shown = try Oracle.Shown(db)
        try judgeLaw(of: device, shown)
        try world.checkReferences(db, device.name)
        if try isCaughtUp(db) { try compare(device, shown) }
    }

    private func judgeLaw(of device: SimulatedDevice, _ shown: Oracle.Shown) throws {
        for finding in try oracle().findings(on: shown) {
            find("\(finding.text), on \(device.name)")
            try log("entry of \(finding.row) on \(device.name): \(Self.entry(of: finding.row, in: shown.db))")
        }
    }

    func oracle(_ kept: Kept? = nil) -> Oracle {
        withState { state in
            Oracle(
                history: state.history, clocksAreRight: plan.clocksAreRight, hasForgotten: state.hasForgotten,
                kept: kept)
        }
    }

    /// Whether a device has received everything and reports every row as synced.
    private func isCaughtUp(_ db: Database) throws -> Bool {
        let here = SyncState(epoch: data.epoch, seq: withState(\.history.log.seq)).description
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT NOT EXISTS (SELECT 1 FROM optimist_table LEFT JOIN optimist_progress ON scope = 0 AND tbl = number
                WHERE cursor IS NOT ? OR isComplete IS NOT 1)
                AND NOT EXISTS (SELECT 1 FROM optimist_state WHERE state <> 'synced')
                AND NOT EXISTS (SELECT 1 FROM optimist_unseen)
                """, arguments: [here]) ?? false
    }

    private static func entry(of name: RowName, in db: Database) throws -> String {
        let sql = """
            WHERE tbl = (SELECT number FROM optimist_table WHERE name = ?) AND lower(hex(id)) = ?
            """
        let entry = try ["optimist_remote", "optimist_edit"].map { table in
            try Row.fetchOne(db, sql: "SELECT * FROM \(table) \(sql)", arguments: [name.table, name.id])?.description
                ?? "none"
        }.joined(separator: ", ")
        let tables = try Row.fetchAll(
            db, sql: "SELECT * FROM optimist_table LEFT JOIN optimist_progress ON tbl = number"
        ).description
        return entry + ", " + tables
    }

    /// Whether everything is sent and all devices equal the server.
    func isQuiet() throws -> Bool {
        let server = withState { $0.history.log.present }
        return try devices.allSatisfy { device in
            guard device.launch != nil else { return false }
            return try read(device) { db in
                guard try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit") == 0 else { return false }
                return try Rows.all(db) == server
            }
        }
    }

    func judgeTheEnd() throws {
        var kept = Kept()
        for (number, device) in devices.enumerated() {
            look(into: device) { db in
                let shown = try Oracle.Shown(db)
                try compare(device, shown)
                try judgeLaw(of: device, shown)
                if let status = try world.judgeStatus(of: device, db), !status.phase.isWorking {
                    find("untrue: \(device.name) reports \(status)")
                }
                try world.checkFile(db, device.name)
                try kept.read(db, of: number)
            }
        }
        try data.inspect(while: server.process) { try world.checkFile($0, "server") }
        for finding in oracle(kept).findings() { find(finding) }
    }

    private func compare(_ device: SimulatedDevice, _ shown: Oracle.Shown) throws {
        let server = withState { $0.history.log.present }
        for name in Set(shown.rows.keys).union(server.keys).sorted() {
            let mine = shown.rows[name]
            // The app's first version does not have every column.
            let theirs = server[name].map { values in
                values.filter { column, _ in mine?[column] != nil || mine == nil }
            }
            if mine == theirs { continue }
            find("diverged: \(name) on \(device.name) is \(World.text(mine)), on the server \(World.text(theirs))")
            try log("entry of \(name) on \(device.name): \(Self.entry(of: name, in: shown.db))")
        }
    }
}
