// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The devices in the clocks of rows, by number. A clock with a number takes 9 bytes instead of 30.
///
/// Looks devices up on demand: an account may have thousands, but a page names a few. This is a value type, so that an
/// attempt that is rolled back drops the devices that it added.
struct Nodes {
    private let db: Database
    private let naming: RowStatement
    private var numbers: [String: Int64] = [:]

    init(in db: Database) throws {
        self.db = db
        naming = try RowStatement("SELECT device FROM optimist_node WHERE number = ?", in: db)
    }

    func device(_ number: Int64) throws -> String {
        guard let device = try naming.first([number.databaseValue], { $0.text(0) }) ?? nil else {
            throw OptimistError(.damagedMetadata, "A clock refers to an unknown device. No data was deleted.")
        }
        return device
    }

    /// Returns a device's number, and adds the device if it is new. For the id of a launch
    /// (see ``LaunchOrigin``), returns this device's own number.
    mutating func number(of device: String) throws -> Int64 {
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
