// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@testable import OptimistCore
@_spi(Internals) @testable import OptimistWire

/// An app with lists that people can share: a list, its items, and aisles that items refer to.
struct ShoppingList: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "list"
    static let syncRules = SyncRules(space: .own("space"))
    var id = UUID()
    var title = ""
    var space: UUID?
}

struct ShoppingItem: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "item"
    static let syncRules = SyncRules(space: .of("listID"))
    var id = UUID()
    var listID: UUID
    var title = ""
    var aisleID: UUID?
}

struct Aisle: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "aisle"
    static let syncRules = SyncRules(space: .own("space"))
    var id = UUID()
    var name = ""
    var space: UUID?
}

enum ShoppingLists {
    static let synced: [any SyncedRecord.Type] = [ShoppingList.self, ShoppingItem.self, Aisle.self, Todo.self]

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("lists") { db in
            try db.execute(
                sql: """
                    CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, title TEXT NOT NULL, space BLOB);
                    CREATE TABLE aisle(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL, space BLOB);
                    CREATE TABLE item(
                        id BLOB PRIMARY KEY NOT NULL, listID BLOB NOT NULL REFERENCES list(id) ON DELETE CASCADE,
                        title TEXT NOT NULL, aisleID BLOB REFERENCES aisle(id) ON DELETE SET NULL);
                    """)
        }
        Todo.migrate(&migrator)
    }

    static func device(at milliseconds: Int64 = 1_790_000_000_000) throws -> Device {
        try Device(synced, at: milliseconds, migrate: migrate)
    }

    /// The schema of the server, exported from an app's file.
    static func schema(of device: Device) throws -> Schema { try Schema(exporting: device.file, id: "lists") }
}

extension Store {
    /// Lets the device receive a member row, as if the server had admitted the person.
    func receiveMember(
        _ id: UUID, of space: UUID, role: SpaceRole, isMe: Bool = true, seq: Int64
    ) async throws {
        try await apply { db in
            try Scope.followSpaces(self.layouts, in: db)
            let number = try #require(try Scope.number(ofSpace: space.wire, in: db))
            if isMe { try Scope.update(number, in: db) { $0.member = id.wire } }
            let clock = WriteClock(stamp: Stamp(rawValue: seq << 20), device: "server")
            let patch = RowPatch(
                generation: 1, clocks: ColumnClocks(common: clock), seq: seq,
                values: ["space": .string(space.wire), "name": "?", "role": .string(role.rawValue)])
            _ = try self.receive(
                [RemotePage.Row(table: "optimist_member", id: id.wire, content: .row(patch))],
                PageContext(scope: number), in: db)
        }
    }

    /// Lets the person use a space with this role, as after a first sync.
    func join(_ space: UUID, as role: SpaceRole, member: UUID = UUID()) async throws {
        let clock = WriteClock(stamp: Stamp(rawValue: 1 << 20), device: "server")
        let patch = RowPatch(generation: 1, clocks: ColumnClocks(common: clock), seq: 1, values: ["name": "Home"])
        try await apply { db in
            _ = try self.receive(
                [RemotePage.Row(table: "optimist_space", id: space.wire, content: .row(patch))], PageContext(), in: db)
        }
        try await receiveMember(member, of: space, role: role, seq: 2)
    }
}
