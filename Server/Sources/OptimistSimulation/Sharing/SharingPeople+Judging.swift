// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

extension SharingPeople {
    /// A row that a device calls synced has only texts that the server had, and is in a space that the person uses.
    func judgeNow(_ device: SimulatedDevice, _ db: Database) throws {
        try world.checkReferences(db, device.name)
        let history = withState(\.history)
        let shown = try SharedRows(db)
        let unsettled = try Rows.names(db, "SELECT tableName, id FROM optimist_state WHERE state <> 'synced'")
        for (name, values) in shown.rows where !unsettled.contains(name) {
            guard let column = SharedTables.texts[name.table], let text = values[column] ?? nil, !text.isEmpty,
                history.stored[name]?.contains(text) != true
            else { continue }
            find("untrue: \(name) \(text) is called synced on \(device.name), and the server never had it (Q2)")
        }
        let used = try String.fetchSet(db.cachedStatement(sql: Self.usedSpaces))
        for name in shown.rows.keys.sorted() {
            guard let space = shown.space(of: name), !used.contains(space) else { continue }
            find("access: \(device.name) shows \(name) of \(space), which the person does not use (P8)")
        }
    }

    /// The spaces whose rows the device may show. They include spaces that another device of the person has left, because
    /// this device removes the rows when it hears why the access ended (P8).
    private static let usedSpaces = """
        SELECT lower(hex(id)) FROM optimist_space
        UNION SELECT lower(hex(space)) FROM optimist_scope WHERE space IS NOT NULL
        """

    func isQuiet() throws -> Bool {
        let history = withState(\.history)
        return try devices.enumerated().allSatisfy { number, device in
            guard device.launch != nil else { return false }
            return try read(device) { db in
                guard try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit") == 0 else { return false }
                return try differences(of: number, db, history).isEmpty
            }
        }
    }

    func judgeTheEnd() throws {
        var kept = SharedKept()
        let history = withState(\.history)
        for (number, device) in devices.enumerated() {
            look(into: device) { db in
                try judgeNow(device, db)
                for difference in try differences(of: number, db, history) {
                    find("diverged: \(difference), on \(device.name)")
                }
                if let status = try world.judgeStatus(of: device, db), !status.phase.isWorking {
                    find("untrue: \(device.name) reports \(status)")
                }
                try world.checkFile(db, device.name)
                try kept.read(db, of: number)
            }
        }
        try data.inspect(while: server.process) { try world.checkFile($0, "server") }
        for finding in SharingLaw(history).findings(keeping: kept, clocksAreRight: plan.clocksAreRight) {
            find(finding)
        }
    }

    /// The differences between a device and the server's rows for its person.
    private func differences(of number: Int, _ db: Database, _ history: SharedHistory) throws -> [String] {
        let accounts = history.visible(to: world.app.person(of: number))
        let (mine, theirs) = (try SharedRows(db), SharedRows(accounts))
        var differences: [String] = []
        for name in Set(mine.rows.keys).union(theirs.rows.keys).sorted() {
            if mine.rows[name] == theirs.rows[name], mine.points[name] == theirs.points[name] { continue }
            // After a restore, a row may live in two spaces, and a device shows it in one (P12).
            let homes = accounts.filter { $0.living[name] != nil }
            if homes.count > 1, homes.contains(where: { SharedRows([$0]).rows[name] == mine.rows[name] }) { continue }
            if mine.rows[name] == nil, history.isEarlierStay(name, in: homes) { continue }
            differences.append(
                "\(name) is \(World.text(mine.rows[name])), at the server \(World.text(theirs.rows[name]))")
        }
        for account in accounts {
            guard let space = account.space else { continue }
            let shown = try String.fetchAll(
                db,
                sql: """
                    SELECT coalesce(role, 'unknown') FROM optimist_member WHERE lower(hex(space)) = ? ORDER BY 1
                    """, arguments: [space])
            let present = account.roles.values.sorted()
            if shown != present {
                differences.append("the members of \(account.id) are \(shown), at the server \(present)")
            }
        }
        return differences
    }
}

extension SharedKept {
    mutating func read(_ db: Database, of device: Int) throws {
        for row in try KeptRow.all(db) {
            texts[device, default: []].formUnion(row.values.values.compactMap(\.self))
            points[row.name, default: 0] += row.counts.reduce(0, +)
            if row.isRefused { refused[device, default: []].insert(row.name) }
        }
    }
}
