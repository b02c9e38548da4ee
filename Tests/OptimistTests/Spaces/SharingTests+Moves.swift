// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// Moves of lists with rows below them that the device cannot show.
extension SharingTests {
    /// A server whose newer apps have steps below items.
    private static var withSteps: Schema {
        var schema = Schema.sharedLists
        schema.types["step"] = TypeSchema(columns: [
            "itemID": ColumnSchema(.ref, target: "item", onDelete: .cascade), "text": ColumnSchema(.string),
        ])
        schema.types["step"]?.space = .of("itemID")
        return schema
    }

    @Test(arguments: ["step", "item"])
    func `P4 a move that would leave rows behind that the device cannot show ends as a rejection`(
        table: String
    ) async throws {
        let server = InMemoryServer(
            schema: Self.withSteps, now: { [time] in Date(timeIntervalSince1970: Double(time.value)) })
        let ann = try ListPhone(server, "ann")
        let (home, work) = (
            try await ann.store.createSpace(named: "Home", as: "Ann").id,
            try await ann.store.createSpace(named: "Work", as: "Ann").id
        )
        let list = try await add("Groceries", to: home, on: ann)
        try await ann.sync()
        let item = try #require(try await ann.store.read { try SharedItem.fetchOne($0)?.id })
        let id = UUID()
        // A trigger of the app refuses this item, and the app does not have the table "step".
        try await ann.store.apply { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON item WHEN NEW.text = 'Shake'
                    BEGIN SELECT RAISE(ABORT, 'refused'); END
                    """)
        }
        let above: (String, JSON) =
            table == "step" ? ("itemID", .string(item.wire)) : ("listID", .string(list.id.wire))
        let row = JSONObject([above, ("text", "Shake")])
        try await server.create(table, id, row, in: home, as: "ann")
        try await ann.sync()
        try await move(list, to: work, on: ann)
        for _ in 1...3 {
            try await ann.sync()
            ann.device.advance(20_000)
        }
        #expect(try await pending(ann) == 0)
        #expect(try await space(of: list, on: ann) == home)
        #expect(try await items(ann) == ["Milk"])
        let rejection = try #require(try await ann.store.rejections().first)
        #expect(rejection.code == "leavesRows" && rejection.mine["space"] == .string(work.wire))
        #expect(try await ann.store.rejections().count == 1)
        // Without that row, the move can be retried.
        try await server.delete(table, id, in: home, as: "ann")
        try await ann.store.retry(rejection)
        try await ann.sync()
        try await ann.sync()
        #expect(try await space(of: list, on: ann) == work)
        #expect(try await pending(ann) == 0)
        #expect(try await ann.store.rejections().isEmpty)
    }

    @Test func `S2 a move and an earlier write below the list are sent together if each needs the other`() async throws
    {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        // The new item belongs where the list goes, and the list cannot go while the server has the deleted item.
        try await ann.store.write { db in
            try db.execute(sql: "DELETE FROM item")
            try SharedItem(listID: list.id, text: "Eggs").insert(db)
        }
        try await move(list, to: work, on: ann)
        for _ in 1...3 {
            try await sync(ann, bob)
            ann.device.advance(5_000)
        }
        try await expect(list, in: work, with: ["Eggs"])
    }
}
