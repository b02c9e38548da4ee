// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The devices that rows' clocks name, by number. With a number in place of the device, a clock takes nine bytes and
/// not thirty.
///
/// A device is looked up when it is needed: an account may have thousands, and a page names a few. This type is a
/// value. An attempt that is rolled back drops its copy, and so the devices that it added.
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
            throw OptimistError(.damagedMetadata, "A clock names a device that is not listed. Nothing was deleted.")
        }
        return device
    }

    /// The number of a device. A device that is not listed yet is added. A launch's id gets this device's number: see
    /// ``LaunchOrigin``.
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
