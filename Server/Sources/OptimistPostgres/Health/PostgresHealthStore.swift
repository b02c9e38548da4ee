// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistServer
@_spi(Internals) import OptimistWire

/// Health reports in a PostgreSQL database.
///
/// A transaction first takes the lock of the app's name, so that two servers never make the same row, and the limits
/// apply to all servers together. Reports are rare: an installation sends at most one for each launch.
struct PostgresHealthStore: HealthStore {
    let pool: PostgresPool

    private struct NoRoom: Error {}

    func keep(_ report: HealthReport, limits: HealthSettings) async throws -> HealthAddition? {
        do {
            return try await pool.run(of: "health") { connection in
                try connection.transaction { connection in
                    _ = try connection.query(SharedStatement.lockHealth, [.text(report.app)])
                    var addition = HealthAddition()
                    for totals in report.totals { try Self.keep(totals, report, limits, &addition, connection) }
                    return addition
                }
            }
        } catch is NoRoom {
            return nil
        }
    }

    func remove(signature key: String, of app: String) async throws -> Bool {
        try await pool.run(of: "health") { connection in
            try connection.transaction { connection in
                _ = try connection.query(SharedStatement.lockHealth, [.text(app)])
                _ = try connection.query(HealthStatement.removeSignatureTotals, [.text(app), .text(key)])
                return try connection.query(HealthStatement.removeSignature, [.text(app), .text(key)]).changedCount == 1
            }
        }
    }

    private static func keep(
        _ totals: HealthTotals, _ report: HealthReport, _ limits: HealthSettings, _ addition: inout HealthAddition,
        _ connection: PostgresConnection
    ) throws {
        let key: [PostgresValue] = [
            .text(report.app), .int(totals.day), .text(totals.version), .text(totals.build), .text(report.install),
        ]
        let numbers: [PostgresValue] = [
            .int(totals.launches), .int(totals.abruptEnds), .int(totals.unsentEnds), .int(totals.crashes),
            .int(totals.hangs),
        ]
        if try connection.query(HealthStatement.raise, key + numbers).changedCount == 0 {
            let room = try connection.query(
                HealthStatement.takeRoom, [.text(report.app), .int(totals.day), .int(limits.totalsPerDay)])
            guard room.changedCount == 1 else { throw NoRoom() }
            _ = try connection.query(HealthStatement.add, key + numbers)
            addition.totals += 1
        }
        for signature in totals.signatures {
            let kept = try self.key(of: signature.signature, report.app, totals.day, limits, &addition, connection)
            _ = try connection.query(
                HealthStatement.countSignature,
                key + [.text(kept), .int(signature.count), .int(signature.unsent)])
        }
    }

    private static func key(
        of signature: CrashSignature, _ app: String, _ day: Int, _ limits: HealthSettings,
        _ addition: inout HealthAddition, _ connection: PostgresConnection
    ) throws -> String {
        let key = signature.key
        let seen = try connection.query(HealthStatement.seeSignature, [.text(app), .text(key), .int(day)])
        if seen.changedCount == 1 { return key }
        let count = try connection.query(HealthStatement.countSignatures, [.text(app)]).int(0, 0)
        if count >= limits.signatures, signature != .other {
            return try self.key(of: .other, app, day, limits, &addition, connection)
        }
        addition.signatures += 1
        _ = try connection.query(
            HealthStatement.addSignature, [.text(app), .text(key), .text(signature.json.description), .int(day)])
        return key
    }

    func forget(before day: Int) async throws {
        try await pool.run { connection in
            let statements: [HealthStatement] = [.forgetTotals, .forgetSignatureTotals, .forgetDays, .forgetSignatures]
            for statement in statements { _ = try connection.query(statement, [.int(day)]) }
        }
    }

    func sums(of app: String?) async throws -> HealthSums {
        try await pool.run { try Self.sums(of: app, $0) }
    }

    static func sums(of app: String?, _ connection: PostgresConnection) throws -> HealthSums {
        try connection.transaction(.beginSnapshot) { connection in
            let apps = try connection.query(HealthStatement.apps).texts
            var sums = HealthSums(apps: apps, app: app ?? apps.first)
            guard let app = sums.app else { return sums }
            let versions = try connection.query(HealthStatement.versions, [.text(app)])
            sums.versions = (0..<versions.count).map { row in
                HealthSums.Version(
                    version: versions.text(row, 0), people: versions.int(row, 1), crashedPeople: versions.int(row, 2),
                    launches: versions.int(row, 3), abruptEnds: versions.int(row, 4),
                    unsentEnds: versions.int(row, 5), crashes: versions.int(row, 6), hangs: versions.int(row, 7),
                    firstDay: versions.int(row, 8), lastDay: versions.int(row, 9))
            }
            let pairs = try connection.query(HealthStatement.versionsOfSignatures, [.text(app)])
            let names = Dictionary(grouping: 0..<pairs.count) { pairs.text($0, 0) }
            let rows = try connection.query(HealthStatement.signatures, [.text(app)])
            sums.signatures = (0..<rows.count).map { row in
                HealthSums.Signature(
                    id: rows.text(row, 0), content: rows.text(row, 1), people: rows.int(row, 2),
                    count: rows.int(row, 3),
                    unsent: rows.int(row, 4), firstDay: rows.int(row, 5), lastDay: rows.int(row, 6),
                    versions: (names[rows.text(row, 0)] ?? []).map { pairs.text($0, 1) })
            }
            return sums
        }
    }
}

extension PostgresOpening {
    /// Reads the sums of an app's health. Nil: the only app, or the first by name.
    ///
    /// - Throws: `OptimistError` as for opening the database.
    package func healthSums(of app: String?) async throws -> HealthSums {
        try await explaining { try PostgresHealthStore.sums(of: app, try connectForCare()) }
    }
}
