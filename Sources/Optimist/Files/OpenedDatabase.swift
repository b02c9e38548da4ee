// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Opens the file for writing: creates the engine's tables, runs the app's migrations and installs the triggers.
struct OpenedDatabase {
    let pool: DatabasePool
    let layouts: [TableLayout]
    /// The app's WITHOUT ROWID tables. SQLite does not report changes to them.
    let unreported: [String]
    let shared: SharedFile

    init(
        file: StoreFile, synced: [any SyncedRecord.Type], durability: Store.Durability, migrator: DatabaseMigrator,
        capture: CaptureContext, checkpoints: Checkpoints?, dependencies: Dependencies
    ) throws {
        var configuration = file.configuration
        configuration.label = configuration.label ?? "optimist"
        configuration.busyMode = .timeout(5)
        // An app with a file in a shared container makes all connections release their locks before it is suspended.
        configuration.observesSuspensionNotifications = true
        configuration.prepareDatabase { db in
            // REPLACE deletes the old row, and the delete trigger must see that.
            try db.execute(sql: "PRAGMA recursive_triggers = ON")
            try capture.install(on: db)
            // This closure makes the pool retain the checkpoints that its connections call.
            checkpoints?.attach(to: db)
        }
        pool = try DatabasePool(path: file.url.path, configuration: configuration)
        try Self.require(durability, of: pool)
        try pool.write { db in try EngineSchema.migrate(db) }
        if try pool.read({ try !migrator.hasCompletedMigrations($0) }) {
            try pool.write { db in
                try CaptureTriggers.removeAll(in: db)
                try EngineSchema.emptyStateViews(in: db)
                try MigrationCapture(db).begin()
            }
            try migrator.migrate(pool)
        }
        let opening = Opening(synced: synced, capture: capture, dependencies: dependencies)
        (layouts, unreported, shared) = try pool.write { db in
            let layouts = try opening.prepare(db)
            let ceiling = Stamp(rawValue: try Meta.int(.stampCeiling, in: db) ?? 0)
            let shared = SharedFile(version: try Store.dataVersion(db), ceiling: ceiling)
            return (layouts, try Store.unreportedTables(db), shared)
        }
    }

    /// GRDB lowers `synchronous` after `prepareDatabase`, so this sets the level on the open writer and reads it back.
    private static func require(_ durability: Store.Durability, of pool: DatabasePool) throws {
        let level = durability == .full ? 2 : 1
        let inForce = try pool.writeWithoutTransaction { db in
            // A page of a first sync dirties more index pages than SQLite's default cache of 2 MB holds. Each index
            // page would be written several times.
            try db.execute(sql: "PRAGMA cache_size = -16384")
            try db.execute(sql: "PRAGMA synchronous = \(level); PRAGMA fullfsync = \(durability == .full ? 1 : 0)")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard inForce == level else {
            throw OptimistError(.notDurable, "SQLite did not accept the requested durability (\(level)).")
        }
    }
}

/// The steps of each opening, in one transaction.
struct Opening {
    let synced: [any SyncedRecord.Type]
    let capture: CaptureContext
    let dependencies: Dependencies

    func prepare(_ db: Database) throws -> [TableLayout] {
        let sharesRows = synced.contains { $0 == SpaceRow.self }
        if sharesRows { try db.execute(sql: SpaceTables.tables) }
        let isNew = try Meta.int(.node, in: db) == nil
        if isNew { try DeviceIdentity.renew(in: db, makeID: dependencies.makeID) }
        if let ceiling = try Meta.int(.stampCeiling, in: db) { capture.resume(from: Stamp(rawValue: ceiling)) }
        if !isNew { capture.inherit(through: capture.lastStamp.rawValue) }
        var names = try FormerNames(db)
        try GoneTables(db).settle(names.follow(synced))
        try FormerNameNote(of: synced).keep(in: db)
        try ColumnRulesNote(of: synced).keep(in: db)
        let newCounters = try NewCounters(db)
        let layouts = try synced.map { try TableLayout(of: $0, among: synced, in: db) }
        for layout in layouts { try newCounters.begin(in: layout) }
        let present = try EngineSchema.definitions(in: db)
        for layout in layouts { try EngineSchema.createStateView(of: layout, in: db, beside: present) }
        if sharesRows {
            let query = UnsentView.query(of: layouts)
            try EngineSchema.createView(UnsentView.name, in: db, beside: present, as: query)
        }
        for (name, query) in sharesRows ? SpaceTables.views.sorted(by: { $0.key < $1.key }) : [] {
            try EngineSchema.createView(name, in: db, beside: present, as: query)
        }
        try fillNewColumns(of: layouts, db)
        let renewed = try layouts.filter { try CaptureTriggers(layout: $0).install(in: db, beside: present) }
        if !isNew, layouts.contains(where: { !$0.counters.isEmpty }) {
            capture.count(under: try LaunchOrigin(db).begin(makeID: dependencies.makeID))
        }
        try captureUnseen(of: layouts, renewed, db)
        return layouts
    }

    /// Fills the columns that a migration added. Their values were received earlier, from newer apps.
    private func fillNewColumns(of layouts: [TableLayout], _ db: Database) throws {
        if try UnknownColumns(db).isEmpty { return }
        capture.begin(as: .server, milliseconds: milliseconds)
        var rows = try RowApplication(layouts, db, at: milliseconds, PageContext())
        for layout in layouts { try rows.applyUnknown(of: layout) }
    }

    /// Rows that were written while no triggers were installed become pending, as one transaction of the user.
    ///
    /// - Parameter renewed: The tables whose triggers were missing or outdated.
    private func captureUnseen(of layouts: [TableLayout], _ renewed: [TableLayout], _ db: Database) throws {
        // The corrected time, which later writes also use.
        let now = milliseconds + (try Meta.int(.clockOffset, in: db) ?? 0)
        capture.begin(as: .past, milliseconds: now)
        defer { capture.begin(as: .user, milliseconds: 0) }
        let made = try MigrationCapture(db).finish(layouts)
        var isAnything = capture.usedStamp != nil
        for layout in try Adoption.isNeeded(for: layouts, in: db) ? layouts : renewed {
            let adoption = Adoption(layout: layout, db: db)
            let isOfMigrations = made.contains(layout.number)
            isAnything = try adoption.adopt(capture.stamp(), isOfMigrations: isOfMigrations) || isAnything
        }
        guard isAnything else { return }
        try GroupJoins(db).insert(capture.joins)
        let ceiling = SharedFile.ceiling(above: capture.lastStamp, at: now)
        try Meta.set(.stampCeiling, to: ceiling.rawValue, in: db)
    }

    private var milliseconds: Int64 { Int64(dependencies.now().timeIntervalSince1970 * 1000) }
}
