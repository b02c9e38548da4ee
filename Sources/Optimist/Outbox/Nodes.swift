// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The devices whose clocks rows carry, by number: a row's clock then takes nine bytes and not thirty.
///
/// Each is looked up once in a transaction. An account may have thousands, of which a page names a few.
final class Nodes {
    private let db: Database
    private var devices: [Int64: String] = [:]
    private var numbers: [String: Int64] = [:]

    init(in db: Database) { self.db = db }

    func device(_ number: Int64) throws -> String {
        if let device = devices[number] { return device }
        let device = try String.fetchOne(
            db.cachedStatement(sql: "SELECT device FROM optimist_node WHERE number = ?"), arguments: [number])
        guard let device else {
            throw OptimistError(.damagedMetadata, "A clock names a device that is not listed. Nothing was deleted.")
        }
        devices[number] = device
        return device
    }

    /// The number of a device, which is listed if it was not. A launch's id stands for this device's: see ``LaunchOrigin``.
    func number(of device: String) throws -> Int64 {
        if let number = numbers[device] { return number }
        let number = try known(device) ?? add(device)
        numbers[device] = number
        return number
    }

    private func known(_ device: String) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT CASE WHEN own > 1 THEN (SELECT value FROM optimist_meta WHERE name = 'node') ELSE number END
                    FROM optimist_node WHERE device = ?
                    """), arguments: [device])
    }

    private func add(_ device: String) throws -> Int64 {
        try db.cachedStatement(sql: "INSERT INTO optimist_node(device) VALUES (?)").execute(arguments: [device])
        return db.lastInsertedRowID
    }
}
