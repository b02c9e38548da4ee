// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

/// Acknowledged edits that another device replaces or deletes without having read them.
@Suite(.timeLimit(.minutes(20)))
struct UnreadTests {
    struct Item: Codable, SyncedRecord {
        static let databaseTableName = "item"
        var id = UUID()
        var title = ""
        var note: String?

        static func migrate(_ migrator: inout DatabaseMigrator) {
            migrator.registerMigration("item") { db in
                try db.execute(
                    sql: "CREATE TABLE item(id BLOB PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', note TEXT)")
            }
        }
    }

    let server = AppServer()
    let mine: Device
    let theirs: Device
    let item = Item(title: "Tickets", note: "two")

    init() async throws {
        mine = try Device([Item.self], migrate: Item.migrate)
        theirs = try Device([Item.self], at: 1_790_000_001_000, migrate: Item.migrate)
        let item = item
        try await mine.store.write { try item.insert($0) }
        try await mine.sync(with: server)
        try await theirs.sync(with: server)
    }

    private func write(_ title: String, on device: Device) async throws {
        device.advance(10_000)
        try await device.execute("UPDATE item SET title = ?", [title])
    }

    private func titles(_ device: Device) async throws -> [String] {
        try await device.store.read { try String.fetchAll($0, sql: "SELECT title FROM item") }
    }

    @Test
    func `M7 if another device replaces an acknowledged edit unread, the edit is in its writer's journal`()
        async throws
    {
        try await write("mine", on: mine)
        try await write("theirs", on: theirs)
        try await mine.sync(with: server)
        #expect(try await mine.store.counts().pending == 0)
        try await theirs.sync(with: server)
        let page = try await mine.pull(from: server)
        try await mine.apply(page)
        #expect(try await titles(mine) == ["theirs"])
        let conflicts = try await mine.store.conflicts()
        #expect(conflicts.map(\.mine) == [["title": "mine"]])
        #expect(conflicts.map(\.theirs) == [["title": "theirs"]])
        #expect(conflicts.map(\.reason) == [.overwritten])
        #expect(try await theirs.store.conflicts().isEmpty)
        try await mine.store.restore(try #require(conflicts.first))
        try await mine.sync(with: server)
        try await theirs.sync(with: server)
        #expect(try await titles(theirs) == ["mine"])
        #expect(try await theirs.store.conflicts().isEmpty)
    }

    @Test func `M7 an edit that was read before it was replaced is not a conflict`() async throws {
        try await write("mine", on: mine)
        try await mine.sync(with: server)
        try await theirs.sync(with: server)
        try await write("theirs", on: theirs)
        // The user edits again before and after the answer.
        let batch = try #require(try await theirs.next())
        try await write("theirs too", on: theirs)
        try await theirs.store.apply(try await server.push(batch.push), of: batch)
        try await theirs.sync(with: server)
        try await mine.sync(with: server)
        #expect(try await titles(mine) == ["theirs too"])
        #expect(try await mine.store.conflicts().isEmpty)
        #expect(try await theirs.store.conflicts().isEmpty)
    }

    @Test func `M7 an unread edit is journaled even if a third device read and replaced its successor`()
        async throws
    {
        let third = try Device([Item.self], at: 1_790_000_002_000, migrate: Item.migrate)
        try await third.sync(with: server)
        try await write("mine", on: mine)
        try await mine.sync(with: server)
        try await write("theirs", on: theirs)
        try await theirs.push(to: server)
        try await third.sync(with: server)
        third.advance(60_000)
        try await write("third", on: third)
        try await third.sync(with: server)
        try await mine.sync(with: server)
        try await theirs.sync(with: server)
        #expect(try await mine.store.conflicts().map(\.mine) == [["title": "mine"]])
        #expect(try await mine.store.conflicts().map(\.theirs) == [["title": "third"]])
        #expect(try await theirs.store.conflicts().isEmpty)
        #expect(try await third.store.conflicts().isEmpty)
    }

    @Test func `M5 M7 neither equal values nor edits that their user has replaced are conflicts`() async throws {
        try await write("same", on: mine)
        try await write("same", on: theirs)
        try await mine.sync(with: server)
        try await theirs.push(to: server)
        try await mine.sync(with: server)
        #expect(try await mine.store.conflicts().isEmpty)
        try await write("mine", on: mine)
        try await mine.sync(with: server)
        try await write("theirs", on: theirs)
        theirs.advance(100_000)
        try await write("theirs too", on: theirs)
        try await theirs.push(to: server)
        try await write("mine again", on: mine)
        try await mine.sync(with: server)
        #expect(try await mine.store.conflicts().map(\.mine) == [["title": "mine again"]])
    }

    @Test(arguments: [true, false])
    func `M7 M2 an acknowledged edit of a row that another device deleted unread can be restored`(isReplaced: Bool)
        async throws
    {
        try await write("mine", on: mine)
        try await mine.sync(with: server)
        theirs.advance(10_000)
        try await theirs.execute("DELETE FROM item")
        if isReplaced { try await theirs.execute("INSERT INTO item(id, title) VALUES (?, 'anew')", [item.id]) }
        try await theirs.sync(with: server)
        try await mine.sync(with: server)
        #expect(try await titles(mine) == (isReplaced ? ["anew"] : []))
        let conflict = try #require(try await mine.store.conflicts().first)
        #expect(conflict.reason == .deleted)
        #expect(conflict.mine["title"] == "mine")
        try await mine.store.restore(conflict)
        try await mine.sync(with: server)
        try await theirs.sync(with: server)
        #expect(try await titles(theirs) == ["mine"])
        theirs.advance(100_000)
        try await write("theirs", on: theirs)
        try await theirs.sync(with: server)
        try await mine.sync(with: server)
        #expect(try await titles(mine) == ["theirs"])
        #expect(try await mine.store.conflicts().isEmpty, "the other device had read it")
    }

    @Test func `M7 a row that another device read before deleting it is not journaled`() async throws {
        try await write("mine", on: mine)
        try await mine.sync(with: server)
        try await theirs.sync(with: server)
        try await theirs.execute("DELETE FROM item")
        try await theirs.sync(with: server)
        try await mine.sync(with: server)
        #expect(try await titles(mine).isEmpty)
        #expect(try await mine.store.conflicts().isEmpty)
    }

    @Test func `M7 L3 a device recognizes its edits under its former device id`() async throws {
        try await write("mine", on: mine)
        try await mine.sync(with: server)
        try await mine.store.renewDeviceID()
        try await write("theirs", on: theirs)
        try await theirs.push(to: server)
        try await mine.sync(with: server)
        #expect(try await mine.store.conflicts().map(\.mine) == [["title": "mine"]])
    }
}
