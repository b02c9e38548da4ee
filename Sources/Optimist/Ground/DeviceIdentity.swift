// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// The device's id in clocks and pushes.
enum DeviceIdentity {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    static func current(in db: Database) throws -> String {
        let sql =
            "SELECT device FROM optimist_node WHERE number = (SELECT value FROM optimist_meta WHERE name = 'node')"
        guard let device = try String.fetchOne(db, sql: sql) else {
            throw OptimistError(.damagedMetadata, "The database does not have a device id. No data was deleted.")
        }
        return device
    }

    /// All ids that this device has or had, to recognise its own clocks.
    static func all(in db: Database) throws -> Set<String> {
        try String.fetchSet(db.cachedStatement(sql: "SELECT device FROM optimist_node WHERE own = 1"))
    }

    /// All ids under which the server may have counts of this device. Empty if no table has counters (M3).
    static func origins(in db: Database) throws -> [String] {
        let counts = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_table WHERE counters IS NOT NULL)"))
        guard counts == true else { return [] }
        return try String.fetchAll(
            db.cachedStatement(sql: "SELECT device FROM optimist_node WHERE own IN (1, 2) ORDER BY number"))
    }

    /// Whether `asked` contains all ids that this device counts under. Otherwise the sum in an answer includes counts
    /// of this device that would be added again.
    static func areOrigins(in db: Database, among asked: [String]) throws -> Bool {
        try Set(asked).isSuperset(of: origins(in: db))
    }

    /// Makes a unique id of 10 letters and digits.
    static func make(_ makeID: () -> UUID) -> String {
        let bytes = withUnsafeBytes(of: makeID().uuid) { Array($0) }
        var number =
            bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            ^ bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var characters: [UInt8] = []
        for _ in 0..<10 {
            characters.append(digits[Int(number % 62)])
            number /= 62
        }
        return String(decoding: characters, as: UTF8.self)
    }
}
