// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Opens the file for writing: functions, durability, the engine's tables, the app's migrations, triggers.
struct OpenedDatabase {
    let pool: DatabasePool
    let layouts: [TableLayout]
    let shared: SharedFile

    init(
        url: URL, synced: [any SyncedRecord.Type], durability: Store.Durability, migrator: DatabaseMigrator,
        capture: CaptureContext, surroundings: Surroundings
    ) throws {
        var configuration = Configuration()
        configuration.label = "optimist"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // Replacing a row deletes the one that was there: its trigger must see that.
            try db.execute(sql: "PRAGMA recursive_triggers = ON")
            try capture.install(on: db)
        }
        pool = try DatabasePool(path: url.path, configuration: configuration)
        try Self.require(durability, of: pool)
        try pool.write { db in try EngineSchema.migrate(db) }
        if try pool.read({ try !migrator.hasCompletedMigrations($0) }) {
            try pool.write { db in try CaptureTriggers.removeAll(in: db) }
            try migrator.migrate(pool)
        }
        let opening = Opening(synced: synced, capture: capture, surroundings: surroundings)
        (layouts, shared) = try pool.write { db in
            let layouts = try opening.prepare(db)
            let ceiling = Stamp(rawValue: try Meta.int(.stampCeiling, in: db) ?? 0)
            return (layouts, SharedFile(version: try Store.dataVersion(db), ceiling: ceiling))
        }
    }

    /// GRDB lowers `synchronous` after `prepareDatabase`: it is set on the writer once that is open, and read back.
    private static func require(_ durability: Store.Durability, of pool: DatabasePool) throws {
        let level = durability == .full ? 2 : 1
        let inForce = try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = \(level); PRAGMA fullfsync = \(durability == .full ? 1 : 0)")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard inForce == level else {
            throw OptimistError(.notDurable, "SQLite does not take the durability that was asked for (\(level)).")
        }
    }
}

/// What is done once for each opening, in one transaction.
private struct Opening {
    let synced: [any SyncedRecord.Type]
    let capture: CaptureContext
    let surroundings: Surroundings

    func prepare(_ db: Database) throws -> [TableLayout] {
        if try Meta.int(.node, in: db) == nil { try DeviceIdentity.renew(in: db, makeID: surroundings.makeID) }
        if let ceiling = try Meta.int(.stampCeiling, in: db) { capture.resume(from: Stamp(rawValue: ceiling)) }
        let layouts = try synced.map { try TableLayout(of: $0, among: synced, in: db) }
        for layout in layouts { try EngineSchema.createStateView(of: layout, in: db) }
        for layout in layouts where try CaptureTriggers(layout: layout).install(in: db) {
            try adopt(layout, in: db)
        }
        return layouts
    }

    /// Rows that were there before their table was synced, or that a migration made, are pending from now on.
    private func adopt(_ layout: TableLayout, in db: Database) throws {
        capture.begin(as: .user, milliseconds: Int64(surroundings.now().timeIntervalSince1970 * 1000))
        let stamp = capture.stamp()
        try db.execute(
            sql: """
                INSERT INTO optimist_row(tbl, id, generation, pending, dirty)
                SELECT ?, id, 1, ?, ? FROM "\(layout.name)" t
                WHERE NOT EXISTS (SELECT 1 FROM optimist_row r WHERE r.tbl = ? AND r.id = t.id)
                """,
            arguments: [layout.number, stamp.rawValue, layout.fullMask, layout.number])
        if db.changesCount > 0 {
            try Meta.set(
                .stampCeiling, to: Stamp(milliseconds: stamp.milliseconds + SharedFile.lead).rawValue, in: db)
        }
    }
}

/// The device id, which clocks and pushes carry.
enum DeviceIdentity {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    static func current(in db: Database) throws -> String {
        let sql =
            "SELECT device FROM optimist_node WHERE number = (SELECT value FROM optimist_meta WHERE name = 'node')"
        guard let device = try String.fetchOne(db, sql: sql) else {
            throw OptimistError(.damagedMetadata, "The database has no device id. Nothing was deleted.")
        }
        return device
    }

    /// Takes a new device id. What is pending keeps its stamps; what was confirmed keeps its old device.
    static func renew(in db: Database, makeID: () -> UUID) throws {
        let bytes = withUnsafeBytes(of: makeID().uuid) { Array($0) }
        var number =
            bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            ^ bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var characters: [UInt8] = []
        for _ in 0..<10 {
            characters.append(digits[Int(number % 62)])
            number /= 62
        }
        try db.execute(
            sql: "INSERT INTO optimist_node(device) VALUES (?)",
            arguments: [String(decoding: characters, as: UTF8.self)])
        try Meta.set(.node, to: db.lastInsertedRowID, in: db)
    }
}
