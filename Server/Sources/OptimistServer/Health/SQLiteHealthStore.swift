// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
@_spi(Internals) package import OptimistWire

package struct SQLiteHealthStore: HealthStore {
    let reader: any DatabaseReader
    /// Nil if the store is only read.
    let commits: GroupCommit?

    package func keep(_ report: HealthReport, limits: HealthSettings) async throws -> HealthAddition? {
        guard let commits else { return nil }
        do {
            return try await commits.write { db in
                var addition = HealthAddition()
                for totals in report.totals { try keep(totals, report, limits, &addition, db) }
                return addition
            }
        } catch is NoRoom {
            return nil
        }
    }

    private struct NoRoom: Error {}

    private func keep(
        _ totals: HealthTotals, _ report: HealthReport, _ limits: HealthSettings, _ addition: inout HealthAddition,
        _ db: Database
    ) throws {
        let key: StatementArguments = [report.app, totals.day, totals.version, totals.build, report.install]
        try db.execute(
            sql: """
                UPDATE optimist_health_totals SET launches = max(launches, ?), abrupt_ends = max(abrupt_ends, ?),
                    unsent_ends = max(unsent_ends, ?), crashes = max(crashes, ?), hangs = max(hangs, ?)
                WHERE app = ? AND day = ? AND version = ? AND build = ? AND install = ?
                """,
            arguments: [totals.launches, totals.abruptEnds, totals.unsentEnds, totals.crashes, totals.hangs] + key)
        if db.changesCount == 0 {
            try takeRoom(report.app, totals.day, limits, db)
            addition.totals += 1
            try db.execute(
                sql: """
                    INSERT INTO optimist_health_totals (app, day, version, build, install, launches, abrupt_ends,
                        unsent_ends, crashes, hangs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: key
                    + [totals.launches, totals.abruptEnds, totals.unsentEnds, totals.crashes, totals.hangs])
        }
        for signature in totals.signatures {
            let kept = try self.key(of: signature.signature, report.app, totals.day, limits, &addition, db)
            try db.execute(
                sql: """
                    INSERT INTO optimist_health_signature_totals (app, day, version, build, install, signature, count,
                        unsent) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET count = max(count, excluded.count), unsent = max(unsent, excluded.unsent)
                    """, arguments: key + [kept, signature.count, signature.unsent])
        }
    }

    private func takeRoom(_ app: String, _ day: Int, _ limits: HealthSettings, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO optimist_health_days (app, day, totals) VALUES (?, ?, 1)
                ON CONFLICT DO UPDATE SET totals = totals + 1 WHERE totals < ?
                """, arguments: [app, day, limits.totalsPerDay])
        if db.changesCount == 0 { throw NoRoom() }
    }

    /// Returns the key of a signature, or of `other` if the list is full.
    private func key(
        of signature: CrashSignature, _ app: String, _ day: Int, _ limits: HealthSettings,
        _ addition: inout HealthAddition, _ db: Database
    ) throws -> String {
        let key = signature.key
        try db.execute(
            sql: "UPDATE optimist_health_signatures SET last_day = max(last_day, ?) WHERE app = ? AND signature = ?",
            arguments: [day, app, key])
        if db.changesCount == 1 { return key }
        let count = try Int.fetchOne(
            db, sql: "SELECT count(*) FROM optimist_health_signatures WHERE app = ?", arguments: [app])
        if count ?? 0 >= limits.signatures, signature != .other {
            return try self.key(of: .other, app, day, limits, &addition, db)
        }
        addition.signatures += 1
        try db.execute(
            sql: "INSERT INTO optimist_health_signatures (app, signature, content, last_day) VALUES (?, ?, ?, ?)",
            arguments: [app, key, signature.json.description, day])
        return key
    }

    package func forget(before day: Int) async throws {
        try await commits?.write { db in
            for (table, column) in [
                ("optimist_health_totals", "day"), ("optimist_health_signature_totals", "day"),
                ("optimist_health_days", "day"), ("optimist_health_signatures", "last_day"),
            ] {
                try db.execute(sql: "DELETE FROM \(table) WHERE \(column) < ?", arguments: [day])
            }
        }
    }

    package func remove(signature key: String, of app: String) async throws -> Bool {
        try await commits?.write { db in
            for table in ["optimist_health_signature_totals", "optimist_health_signatures"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE app = ? AND signature = ?", arguments: [app, key])
            }
            return db.changesCount == 1
        } ?? false
    }

    package func sums(of app: String?) async throws -> HealthSums {
        try await reader.read { db in
            let apps = try String.fetchAll(db, sql: "SELECT DISTINCT app FROM optimist_health_days ORDER BY app")
            var sums = HealthSums(apps: apps, app: app ?? apps.first)
            guard let app = sums.app else { return sums }
            sums.versions = try Row.fetchAll(db, sql: HealthSQL.versions("?"), arguments: [app]).map { row in
                HealthSums.Version(
                    version: row[0], people: row[1], crashedPeople: row[2], launches: row[3], abruptEnds: row[4],
                    unsentEnds: row[5], crashes: row[6], hangs: row[7], firstDay: row[8], lastDay: row[9])
            }
            let pairs = try Row.fetchAll(db, sql: HealthSQL.versionsOfSignatures("?"), arguments: [app])
            let versions = Dictionary(grouping: pairs) { $0[0] as String }
            sums.signatures = try Row.fetchAll(db, sql: HealthSQL.signatures("?"), arguments: [app]).map { row in
                HealthSums.Signature(
                    id: row[0], content: row[1], people: row[2], count: row[3], unsent: row[4], firstDay: row[5],
                    lastDay: row[6],
                    versions: (versions[row[0]] ?? []).map { $0[1] })
            }
            return sums
        }
    }
}

extension SQLiteHealthStore {
    /// Opens a server's data for reading, whether or not the server is running.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data of this version, or an error of the
    ///   database.
    package static func reading(_ directory: URL) throws -> SQLiteHealthStore {
        SQLiteHealthStore(reader: try ServerDatabase.openForReading(directory), commits: nil)
    }
}
