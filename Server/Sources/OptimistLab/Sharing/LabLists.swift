// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistWire

/// A list of to-dos. It belongs to one person, or to a space.
struct LabList: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "list"
    static let syncRules = SyncRules(space: .own("space"))

    var id = UUID()
    var title: String
    var space: UUID?
}

/// A to-do of a list. It is in the list's space.
struct LabItem: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "item"
    static let syncRules = SyncRules(space: .of("listID"))

    var id = UUID()
    var listID: UUID
    var content: String
    var priority = 0
    var done = false
}

enum LabLists {
    static let records: [any SyncedRecord.Type] = [LabList.self, LabItem.self]

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("lists") { db in
            try db.create(table: LabList.databaseTableName) { t in
                t.primaryKey("id", .blob)
                t.column("title", .text).notNull().defaults(to: "")
                t.column("space", .blob).indexed()
            }
            try db.create(table: LabItem.databaseTableName) { t in
                t.primaryKey("id", .blob)
                t.column("listID", .blob).notNull().indexed()
                    .references(LabList.databaseTableName, onDelete: .cascade)
                t.column("content", .text).notNull().defaults(to: "")
                t.column("priority", .integer).notNull().defaults(to: 0)
                t.column("done", .boolean).notNull().defaults(to: false)
            }
        }
    }

    /// The server's schema for the lists.
    static var schema: Schema {
        var lists = TypeSchema(columns: [
            "title": ColumnSchema(.string, isRequired: true, maxBytes: 1_024), "space": ColumnSchema(.ref),
        ])
        lists.space = .own("space")
        var items = TypeSchema(columns: [
            "listID": ColumnSchema(.ref, target: "list", onDelete: .cascade),
            "content": ColumnSchema(.string, isRequired: true, maxBytes: 65_536),
            "priority": ColumnSchema(.int), "done": ColumnSchema(.bool),
        ])
        items.space = .of("listID")
        return Schema(id: "lists", version: 1, types: ["list": lists, "item": items])
    }
}

/// The changes to a to-do in a request of the control API.
struct ItemEdit: Codable, Sendable {
    var content: String?
    var priority: Int?
    var done: Bool?

    func apply(to item: inout LabItem) {
        if let content { item.content = content }
        if let priority { item.priority = priority }
        if let done { item.done = done }
    }
}
