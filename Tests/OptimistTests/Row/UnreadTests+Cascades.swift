// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

/// Acknowledged edits of rows that a cascade deletes.
@Suite(.timeLimit(.minutes(20)))
struct UnreadCascadeTests {
    struct Branch: Codable, SyncedRecord {
        static let databaseTableName = "branch"
        var id = UUID()
        var title = ""
        var parent: UUID?

        static func migrate(_ migrator: inout DatabaseMigrator) {
            migrator.registerMigration("branch") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE branch(id BLOB PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '',
                            parent BLOB REFERENCES branch(id) ON DELETE CASCADE)
                        """)
            }
        }
    }

    private let server = AppServer(
        Schema(
            id: "tree",
            types: [
                "branch": TypeSchema(columns: [
                    "title": ColumnSchema(.string),
                    "parent": ColumnSchema(.ref, target: "branch", onDelete: .cascade),
                ])
            ]))
    private let mine: Device
    private let theirs: Device

    init() throws {
        mine = try Device([Branch.self], migrate: Branch.migrate)
        theirs = try Device([Branch.self], at: 1_790_000_001_000, migrate: Branch.migrate)
    }

    private func add(_ branches: [Branch], on device: Device) async throws {
        try await device.store.write { db in
            for branch in branches { try branch.insert(db) }
        }
        try await device.sync(with: server)
    }

    @Test func `M7 M2 the journal keeps a user's row that a cascade deletes after another device moved it`()
        async throws
    {
        let (trunk, leaf) = (Branch(title: "trunk"), Branch(title: "leaf"))
        try await add([trunk, leaf], on: mine)
        try await theirs.sync(with: server)
        theirs.advance(10_000)
        try await theirs.execute("UPDATE branch SET parent = ? WHERE id = ?", [trunk.id, leaf.id])
        try await theirs.sync(with: server)
        mine.advance(60_000)
        try await mine.execute("DELETE FROM branch WHERE id = ?", [trunk.id])
        try await mine.push(to: server)
        try await mine.sync(with: server)
        #expect(try await mine.store.read { try Branch.fetchCount($0) } == 0)
        #expect(try await mine.store.conflicts().map { $0.mine["title"] } == ["leaf"])
        try await theirs.sync(with: server)
        #expect(
            try await theirs.store.conflicts().map { $0.mine["title"] } == [nil],
            "the conflict has only the place where the user moved the row")
    }

    enum Arrival: CaseIterable { case inOrder, reversed, parked }

    @Test(arguments: Arrival.allCases)
    func `M7 R2 a cascade that arrives before a row's deletion journals the row's acknowledged edit`(arrival: Arrival)
        async throws
    {
        let trunk = Branch(title: "trunk")
        let branch = Branch(title: "branch", parent: trunk.id)
        let leaf = Branch(title: "leaf", parent: branch.id)
        try await add([trunk, branch], on: theirs)
        try await mine.sync(with: server)
        mine.advance(10_000)
        try await add([leaf], on: mine)
        theirs.advance(60_000)
        try await theirs.execute("DELETE FROM branch WHERE id = ?", [trunk.id])
        try await theirs.push(to: server)
        var page = try await mine.pull(from: server)
        switch arrival {
        case .inOrder: break
        case .reversed: page.rows.reverse()
        case .parked:
            let index = try #require(page.rows.firstIndex { $0.id == leaf.id.uuidString.lowercased() })
            let content = page.rows.remove(at: index).content
            let layout = try #require(mine.store.layouts.first)
            let ref = RowRef(table: layout.number, id: leaf.id.databaseValue)
            try await mine.store.write {
                try ParkedRows($0).park(
                    ReceivedRow(ref: ref, content: content), reason: .deletionTooSoon, awaiting: nil)
            }
        }
        try await mine.apply(page)
        #expect(try await mine.store.read { try Branch.fetchCount($0) } == 0)
        #expect(try await mine.store.conflicts().map { $0.mine["title"] } == ["leaf"])
    }

    @Test func `M7 R4 a row that waits for its parent is journaled when another device deletes it`() async throws {
        let trunk = Branch(title: "trunk")
        let leaf = Branch(title: "leaf", parent: trunk.id)
        try await add([trunk], on: theirs)
        try await mine.sync(with: server)
        mine.advance(10_000)
        try await mine.store.write { db in
            try trunk.delete(db)
            try Branch(id: trunk.id, title: "mine").insert(db)
        }
        mine.advance(10_000)
        try await mine.store.write { try leaf.insert($0) }
        // The server defers the new trunk, and accepts the leaf below its own trunk. Then it refuses the new trunk.
        let first = try #require(try await mine.next())
        let accepted = try await server.push(first.push) { row in
            if case .create(let patch) = row.change, patch.values["title"] == "mine" {
                RemotePush.Refusal(code: "rateLimit", message: "later")
            } else {
                nil
            }
        }
        try await mine.store.apply(accepted, of: first)
        mine.advance(60_000)
        let second = try #require(try await mine.next())
        let refusal = RemotePush.Refusal(code: "forbidden", message: "no")
        try await mine.store.apply([.rejected(refusal)], of: second)
        #expect(try await mine.store.read { try ParkedRows($0).isEmpty } == false)
        theirs.advance(60_000)
        try await theirs.execute("DELETE FROM branch")
        try await theirs.push(to: server)
        try await mine.sync(with: server)
        #expect(try await mine.store.conflicts().map { $0.mine["title"] } == ["leaf"])
    }
}
