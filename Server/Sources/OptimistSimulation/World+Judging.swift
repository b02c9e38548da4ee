// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
import OptimistTesting

/// When the judges look, and at what.
extension World {
    /// Ends all trouble: from now on everything must become right by itself.
    func heal() {
        withState { $0.isHealed = true }
        for device in devices {
            device.link.conditions = .perfect
            device.mount?.heal()
            device.signIn()
        }
        mounted.mount?.heal()
        keepRunning()
        log("— everything is healed")
    }

    /// Every few seconds, what a device calls synced must be what the server has or had.
    func lookNowAndThen() {
        scheduler.after(.seconds(17)) { [self] in
            for device in devices where device.launch != nil { look(at: device) }
            if !isHealed { lookNowAndThen() }
        }
    }

    private func look(at device: SimulatedDevice) {
        do {
            let (rows, unsettled) = try read(device) { db in (try Rows.all(db), try Self.unsettled(db)) }
            let served = withState(\.history.served)
            for (name, values) in rows.sorted(by: { $0.key < $1.key }) where !unsettled.contains(name) {
                for (column, value) in values where served[name]?[column]?.contains(value) != true {
                    find(
                        "untrue: \(name).\(column) on \(device.name) is called synced, and the server never had "
                            + (value ?? "null"))
                    try log("entry of \(name) on \(device.name): \(entry(of: name, on: device))")
                }
            }
        } catch { find("the judges cannot read \(device.name): \(error)") }
    }

    /// What the engine has noted of a row, for people who look for a fault.
    private func entry(of name: RowName, on device: SimulatedDevice) throws -> String {
        try read(device) { db in
            let sql = """
                SELECT r.* FROM optimist_row r JOIN optimist_table t ON t.number = r.tbl
                WHERE t.name = ? AND lower(hex(r.id)) = ?
                """
            return try Row.fetchOne(db, sql: sql, arguments: [name.table, name.id])?.description ?? "none"
        }
    }

    /// The rows that are openly not as the server has them.
    private static func unsettled(_ db: Database) throws -> Set<RowName> {
        Set(
            try Row.fetchAll(
                db, sql: "SELECT tableName, id FROM optimist_state WHERE state NOT IN ('synced')"
            ).compactMap { row in Rows.text(row[1]).map { RowName(table: row[0], id: $0) } })
    }

    /// Whether nothing is left to do anywhere.
    func isQuiet() -> Bool {
        do {
            let server = withState { $0.history.present }
            return try devices.allSatisfy { device in
                guard device.launch != nil else { return false }
                return try read(device) { db in
                    guard try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_row WHERE pending IS NOT NULL") == 0
                    else { return false }
                    return try Rows.all(db) == server
                }
            }
        } catch { return false }
    }

    /// Notes what every app says of itself, for the people who look for what is stuck.
    func logStatuses() {
        for device in devices {
            guard let launch = device.launch else {
                log("\(device.name) does not run")
                continue
            }
            log("\(device.name): session \(launch.session.state)")
            launch.process.spawn { [self] in
                do {
                    let status = try await launch.engine.status.current()
                    log("\(device.name): \(status)")
                } catch { log("\(device.name): no status: \(error)") }
            }
        }
        scheduler.run(for: .seconds(1))
    }

    /// Compares everything at the end.
    func judge() {
        let (history, server) = withState { ($0.history, $0.history.present) }
        var rejected: Set<RowName> = []
        for device in devices {
            do {
                try read(device) { db in
                    try compare(device, try Rows.all(db), server)
                    try checkFile(db, device.name)
                    rejected.formUnion(try Self.rejections(db))
                }
            } catch { find("the judges cannot read \(device.name): \(error)") }
        }
        do { try readServer { try checkFile($0, "server") } } catch {
            find("the judges cannot read the server: \(error)")
        }
        let judge = Judge(
            history: history, server: server, clocksAreRight: plan.clocksAreRight, rejected: rejected)
        for finding in judge.findings() { find(finding) }
    }

    private func compare(_ device: SimulatedDevice, _ rows: [RowName: Values], _ server: [RowName: Values]) throws {
        for name in Set(rows.keys).union(server.keys).sorted() where rows[name] != server[name] {
            find(
                "diverged: \(name) on \(device.name) is \(Self.text(rows[name])), on the server \(Self.text(server[name]))"
            )
        }
    }

    private func checkFile(_ db: Database, _ name: String) throws {
        if try String.fetchOne(db, sql: "PRAGMA integrity_check") != "ok" { find("damaged: the file of \(name)") }
        if try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") != nil {
            find("broken reference: in the file of \(name)")
        }
        guard try db.tableExists("optimist_row") else { return }
        for (what, sql) in Self.emptyAtRest where try Int.fetchOne(db, sql: sql) != 0 {
            find("stuck: \(what) on \(name)")
        }
        let entries = try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_row") ?? 0
        if entries > Tables.idsPerTable * Tables.names.count { find("grown: \(entries) entries on \(name)") }
    }

    private static let emptyAtRest = [
        ("pending rows", "SELECT count(*) FROM optimist_row WHERE pending IS NOT NULL"),
        ("parked rows", "SELECT count(*) FROM optimist_parked"),
        ("joins", "SELECT count(*) FROM optimist_join"),
        (
            "marks without a pending row",
            "SELECT count(*) FROM optimist_row WHERE pending IS NULL AND (dirty <> 0 OR sent <> 0 OR base IS NOT NULL)"
        ),
    ]

    private static func rejections(_ db: Database) throws -> [RowName] {
        try Row.fetchAll(
            db, sql: "SELECT t.name, r.id FROM optimist_rejection r JOIN optimist_table t ON t.number = r.tbl"
        ).compactMap { row in Rows.text(row[1]).map { RowName(table: row[0], id: $0) } }
    }
}
