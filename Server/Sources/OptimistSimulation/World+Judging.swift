// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
import OptimistTesting
import OptimistWire

/// When the judges look, and at what.
extension World {
    /// Ends all trouble: from now on everything must become right by itself.
    func heal() {
        withState { $0.isHealed = true }
        upgradeServer()
        for device in devices {
            upgrade(device)
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
                for (column, value) in values
                where Tables.column(column, of: name.table)?.kind != .counter
                    && served[name]?[column]?.contains(value) != true
                {
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
        var refused: [RowName: [Refused]] = [:]
        for device in devices {
            do {
                try read(device) { db in
                    try compare(device, try Rows.all(db), server)
                    try checkFile(db, device.name)
                    for (row, refusal) in try Self.rejections(db) { refused[row, default: []].append(refusal) }
                }
            } catch { find("the judges cannot read \(device.name): \(error)") }
        }
        do { try readServer { try checkFile($0, "server") } } catch {
            find("the judges cannot read the server: \(error)")
        }
        let judge = Judge(
            history: history, server: server, clocksAreRight: plan.clocksAreRight,
            hasForgotten: withState(\.hasForgotten), refused: refused)
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
        for (what, most, sql) in Self.bounds {
            let count = try Int.fetchOne(db, sql: sql) ?? 0
            if count > most { find("grown: \(count) \(what) on \(name)") }
        }
    }

    private static let rows = Tables.idsPerTable * Tables.names.count

    /// What may be in the tables of the engine's, at most.
    private static let bounds = [
        ("entries", rows, "SELECT count(*) FROM optimist_row"),
        ("counters", rows * 20, "SELECT count(*) FROM optimist_counter"),
        ("devices", 200, "SELECT count(*) FROM optimist_node"),
        ("values of the engine's", 30, "SELECT count(*) FROM optimist_meta"),
        (
            "rejections and conflicts of a column at once", 40,
            """
            SELECT coalesce(max(count), 0) FROM (
                SELECT count(*) AS count FROM optimist_rejection GROUP BY tbl, id, mine
                UNION ALL SELECT count(*) FROM optimist_journal GROUP BY tbl, id, mine)
            """
        ),
    ]

    private static let emptyAtRest = [
        ("pending rows", "SELECT count(*) FROM optimist_row WHERE pending IS NOT NULL"),
        ("parked rows", "SELECT count(*) FROM optimist_parked"),
        ("joins", "SELECT count(*) FROM optimist_join"),
        ("groups of all or nothing", "SELECT count(*) FROM optimist_whole"),
        ("rows that a snapshot did not bring", "SELECT count(*) FROM optimist_unseen"),
        ("values of unknown columns", "SELECT count(*) FROM optimist_unknown"),
        (
            "marks without a pending row",
            "SELECT count(*) FROM optimist_row WHERE pending IS NULL AND (dirty <> 0 OR sent <> 0 OR base IS NOT NULL)"
        ),
    ]

    private static func rejections(_ db: Database) throws -> [(RowName, Refused)] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, r.id, r.kind, r.mine FROM optimist_rejection r JOIN optimist_table t ON t.number = r.tbl
                """
        ).compactMap { row -> (RowName, Refused)? in
            guard let id = Rows.text(row[1]) else { return nil }
            let mine = try JSON(parsing: (row[3] as String).utf8).object
            let values = (mine?.members ?? []).map { ($0.key, Rows.text($0.value)) }
            return (
                RowName(table: row[0], id: id),
                Refused(kind: row[2], values: Dictionary(values, uniquingKeysWith: { $1 }))
            )
        }
    }
}
