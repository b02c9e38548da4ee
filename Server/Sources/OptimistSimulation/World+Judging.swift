// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

extension World {
    /// Ends all faults. From here on the world must converge without help.
    func heal() {
        withState { $0.isHealed = true }
        upgradeServer()
        for device in devices {
            upgrade(device)
            device.link.conditions = .perfect
            device.mount?.heal()
            device.signIn()
        }
        data.mount?.heal()
        keepRunning()
        log("— everything is healed")
    }

    /// Every few seconds, checks that synced values are or were on the server, and that a device that is caught up
    /// equals the server. Without changes since the last check, the app's status must be correct.
    func lookNowAndThen() {
        scheduler.after(.seconds(17)) { [self] in
            for (number, device) in devices.enumerated() where device.launch != nil {
                let isFollowed = withState { $0.followed[number] } == device.launches
                if hasChanged(device) {
                    look(into: device) { try judgeRows(of: device, $0) }
                } else if isFollowed {
                    look(into: device) { _ = try judgeStatus(of: device, $0) }
                }
            }
            followStatuses()
            if !isHealed { lookNowAndThen() }
        }
    }

    /// If not, the last check still holds.
    private func hasChanged(_ device: SimulatedDevice) -> Bool {
        let changes = device.disk.changes
        return withState { $0.looked.updateValue(changes, forKey: device.name) != changes }
    }

    private func look(into device: SimulatedDevice, _ judge: (Database) throws -> Void) {
        do { try read(device, judge) } catch { find("the judges cannot read \(device.name): \(error)") }
    }

    private func judgeRows(of device: SimulatedDevice, _ db: Database) throws {
        let rows = try Rows.all(db)
        try judgeSynced(rows, device, db, unsettled: try Self.unsettled(db))
        try judgeLaw(of: device, rows, db)
        try checkReferences(db, device.name)
        if try isCaughtUp(db) { try compare(device, rows, withState(\.history.present), db) }
    }

    private func judgeSynced(
        _ rows: [RowName: Values], _ device: SimulatedDevice, _ db: Database, unsettled: Set<RowName>
    ) throws {
        let history = withState(\.history)
        // The former target may exist again as an unsent row.
        func isGone(_ row: RowName) -> Bool { rows[row] == nil || unsettled.contains(row) }
        let unheard = try Self.unheard(db)
        for (name, values) in rows.sorted(by: { $0.key < $1.key }) where !unsettled.contains(name) {
            for (column, value) in values
            where Tables.column(column, of: name.table)?.kind != .counter
                && history.served[name]?[column]?.contains(value) != true
                && !history.isLeftBehind(value, column, name, isGone: isGone) && unheard[name]?.contains(column) != true
            {
                find(
                    "untrue: \(name).\(column) on \(device.name) is reported as synced, but the server never had "
                        + (value ?? "null"))
                try log("entry of \(name) on \(device.name): \(Self.entry(of: name, in: db))")
            }
        }
    }

    private func judgeLaw(of device: SimulatedDevice, _ rows: [RowName: Values], _ db: Database) throws {
        for finding in try LawJudge(history: withState(\.history), db: db, rows: rows).findings() {
            find("unlawful: on \(device.name) \(finding.text)")
            try log("entry of \(finding.row) on \(device.name): \(Self.entry(of: finding.row, in: db))")
        }
    }

    /// Whether a device has received everything and reports every row as synced.
    private func isCaughtUp(_ db: Database) throws -> Bool {
        let here = SyncState(epoch: data.epoch, seq: withState(\.history.servedSeq)).description
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT NOT EXISTS (SELECT 1 FROM optimist_table WHERE cursor IS NOT ? OR NOT isComplete)
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
        let tables = try Row.fetchAll(db, sql: "SELECT * FROM optimist_table").description
        return entry + ", " + tables
    }

    /// The rows that are reported as different from the server's.
    private static func unsettled(_ db: Database) throws -> Set<RowName> {
        Set(
            try Row.fetchAll(
                db, sql: "SELECT tableName, id FROM optimist_state WHERE state NOT IN ('synced')"
            ).compactMap { row in Rows.text(row[1]).map { RowName(table: row[0], id: $0) } })
    }

    /// The columns without a value from the server: it did not have one, or the device dropped it with a parked row
    /// when the server was restored.
    private static func unheard(_ db: Database) throws -> [RowName: Set<String>] {
        let columns = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, r.id, c.name FROM optimist_remote r JOIN optimist_table t ON t.number = r.tbl
                JOIN optimist_column c ON c.tbl = r.tbl AND c.bit > 0
                LEFT JOIN optimist_edit e ON e.tbl = r.tbl AND e.id = r.id
                WHERE r.known & (1 << c.bit) = 0 AND coalesce(e.generation, r.generation) & 1
                """)
        return columns.reduce(into: [:]) { found, column in
            guard let id = Rows.text(column[1]) else { return }
            found[RowName(table: column[0], id: id), default: []].insert(column[2])
        }
    }

    /// Whether everything is sent and all devices equal the server.
    func isQuiet() -> Bool {
        do {
            let server = withState { $0.history.present }
            return try devices.allSatisfy { device in
                guard device.launch != nil else { return false }
                return try read(device) { db in
                    guard try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit") == 0
                    else { return false }
                    return try Rows.all(db) == server
                }
            }
        } catch { return false }
    }

    /// Logs the status of every app, to find a stuck device.
    func logStatuses() {
        for device in devices {
            guard let launch = device.launch else {
                log("\(device.name) is not running")
                continue
            }
            log("\(device.name): session \(launch.session.state)")
            launch.process.spawn { [self] in
                do {
                    let status = try await launch.engine.statuses.current()
                    log("\(device.name): \(status)")
                } catch { log("\(device.name): no status: \(error)") }
            }
        }
        scheduler.run(for: .seconds(1))
        for device in devices {
            do {
                try read(device) { db in
                    let unsettled = try Row.fetchAll(db, sql: "SELECT * FROM optimist_state WHERE state <> 'synced'")
                    let refused = try Row.fetchAll(db, sql: "SELECT * FROM optimist_rejection")
                    let pending = try Row.fetchAll(db, sql: "SELECT * FROM optimist_edit")
                    let parked = try Row.fetchAll(db, sql: "SELECT * FROM optimist_parked")
                    for row in unsettled + refused + pending + parked { log("\(device.name) has \(row)") }
                }
            } catch { log("\(device.name) cannot be read: \(error)") }
        }
    }

    func judge() {
        let (history, server) = withState { ($0.history, $0.history.present) }
        var refused: [RowName: [Refused]] = [:]
        var journaled: [RowName: Int64] = [:]
        var kept: [Int: [RowName: Set<String>]] = [:]
        for (number, device) in devices.enumerated() {
            look(into: device) { db in
                let rows = try Rows.all(db)
                try compare(device, rows, server, db)
                try judgeLaw(of: device, rows, db)
                if let status = try judgeStatus(of: device, db), !status.phase.isWorking {
                    find("untrue: \(device.name) reports \(status)")
                }
                try checkFile(db, device.name)
                for (row, refusal) in try Self.rejections(db) { refused[row, default: []].append(refusal) }
                for (row, count) in try Self.journaledCounts(db) { journaled[row, default: 0] += count }
                for (row, text) in try Self.keptTexts(db) { kept[number, default: [:]][row, default: []].insert(text) }
            }
        }
        do { try data.inspect(while: self.server.process) { try checkFile($0, "server") } } catch {
            find("the judges cannot read the server: \(error)")
        }
        let judge = Judge(
            history: history, server: server, clocksAreRight: plan.clocksAreRight,
            hasForgotten: withState(\.hasForgotten), refused: refused, journaled: journaled)
        for finding in judge.findings() { find(finding) }
        if withState(\.hasForgotten) { return }
        for finding in UnseenJudge(history: history, server: server, kept: kept).findings() { find(finding) }
    }

    private func compare(
        _ device: SimulatedDevice, _ rows: [RowName: Values], _ server: [RowName: Values], _ db: Database
    ) throws {
        for name in Set(rows.keys).union(server.keys).sorted() {
            let mine = rows[name]
            // The app's first version does not have every column.
            let theirs = server[name].map { values in
                values.filter { column, _ in mine?[column] != nil || mine == nil }
            }
            if mine == theirs { continue }
            find("diverged: \(name) on \(device.name) is \(Self.text(mine)), on the server \(Self.text(theirs))")
            try log("entry of \(name) on \(device.name): \(Self.entry(of: name, in: db))")
        }
    }

    private static func journaledCounts(_ db: Database) throws -> [(RowName, Int64)] {
        try Row.fetchAll(
            db, sql: "SELECT t.name, j.id, j.mine FROM optimist_journal j JOIN optimist_table t ON t.number = j.tbl"
        ).compactMap { row -> (RowName, Int64)? in
            guard let id = Rows.text(row[1]), let mine = try JSON(parsing: (row[2] as String).utf8).object else {
                return nil
            }
            let added = mine.members.compactMap { $0.value["@add"]?.int }.reduce(0, +)
            return (RowName(table: row[0], id: id), added)
        }
    }

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
