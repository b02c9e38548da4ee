// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

/// What the server reports of values that a device replaced or deleted unread.
@Suite(.timeLimit(.minutes(20)))
struct UnreadTests {
    private static let schema = Schema(
        id: "projects", version: 2,
        types: [
            "List": TypeSchema(columns: ["name": ColumnSchema(.string)]),
            "Todo": TypeSchema(columns: [
                "content": ColumnSchema(.string, formerNames: [FormerName("text", until: 1)]),
                "likes": ColumnSchema(.counter),
                "listId": ColumnSchema(.ref, target: "List", onDelete: .cascade),
                "otherId": ColumnSchema(.ref, target: "List", onDelete: .setNull),
            ]),
            "Tag": TypeSchema(
                columns: ["word": ColumnSchema(.string), "colour": ColumnSchema(.string)],
                uniqueIndexes: [UniqueIndex(["word"], onCollision: .mergeInto)]),
        ])
    private let served = Served(Self.schema)
    private let here = "deviceAA"
    private let there = "deviceBB"

    /// Pushes one call of a device and expects it to be accepted.
    private func push(_ name: String, _ arguments: JSON, from device: String, _ number: Int64) async throws {
        let answer = try await served.call([(name, arguments)], push: number, device: device)[0].arguments
        for member in ["notCreated", "notUpdated", "notDestroyed"] { #expect(answer[member] == .null, "\(answer)") }
    }

    private func row(_ values: JSONObject, at milliseconds: Int64, _ device: String, read: JSON? = nil) -> JSONObject {
        var row = values
        row.append("@hlc", clock(milliseconds, device))
        if let read { row.append("@read", read) }
        return row
    }

    private func clock(_ milliseconds: Int64, _ device: String) -> JSON {
        .string(WriteClock.at(milliseconds, device).description)
    }

    /// The row's `unread` member as an app of the given version receives it.
    private func unread(_ key: RowKey, version: Int = 2) async throws -> JSON? {
        let page = try await served.call(
            "\(key.type)/changes", ["sinceState": "e1.0", "inline": true], schemaVersion: version)
        let row = page["list"]?.array?.first { $0["id"]?.string == key.id } ?? page["destroyClocks"]?[key.id]
        return row?["@unread"]
    }

    private func destroy(_ key: RowKey, at milliseconds: Int64, _ device: String, read: JSON?) -> JSON {
        var clocks: JSONObject = ["@gen": 2, "@hlc": clock(milliseconds, device)]
        if let read { clocks.append("@read", read) }
        return ["destroy": [.string(key.id)], "destroyClocks": [key.id: .object(clocks)]]
    }

    @Test(arguments: ["nothing", "another", "it", "unsaid"])
    func `M7: a page reports a value replaced unread, if the push says what its device had read`(read: String)
        async throws
    {
        try await push(
            "Todo/set", .create([(.todo, row(["content": "mine", "likes": 1], at: 0, here))]), from: here, 1)
        let said: JSON? =
            switch read {
            case "nothing": [:]
            case "another": clock(-5, here)
            case "it": clock(0, here)
            default: nil
            }
        let edit = row(["content": "theirs"], at: 5, there, read: said)
        for number in 1...2 { try await push("Todo/set", .update(.todo, edit), from: there, Int64(number)) }
        let isLost = read == "nothing" || read == "another"
        #expect(try await unread(.todo) == (isLost ? ["content": [clock(0, here)]] : nil))
        #expect(try await unread(.todo, version: 1) == (isLost ? ["text": [clock(0, here)]] : nil))
        // The first device writes the column again.
        try await push(
            "Todo/set", .update(.todo, row(["content": "mine"], at: 9, here, read: clock(5, there))), from: here, 2)
        #expect(try await unread(.todo) == nil)
    }

    @Test func `M7: unread values are stored with the row and read back`() async throws {
        try await push("Todo/set", .create([(.todo, row(["content": "mine"], at: 0, here))]), from: here, 1)
        try await push("Todo/set", .update(.todo, row(["content": "theirs"], at: 5, there, read: [:])), from: there, 1)
        let stored = try #require(
            try served.store.reading(Served.account, as: .operator) {
                try $0.rows(type: "Todo", ids: [RowKey.todo.id])[RowKey.todo.id]
            })
        let read = try #require(
            StoredRow(
                content: stored.content(id: RowKey.todo.id), hidden: stored.hidden, seq: stored.seq,
                ordinal: stored.ordinal, bornSeq: stored.bornSeq))
        #expect(read.memory.unread == stored.memory.unread)
        #expect(!read.memory.unread.isEmpty)
    }

    @Test func `M7 M2: rows that a delete deletes or clears report the values that its device had not read`()
        async throws
    {
        try await push("List/set", .create([(.list, row(["name": "list"], at: 0, there))]), from: there, 1)
        let (child, friend) = (RowKey.todo(1), RowKey.todo(2))
        let list = JSON.string(RowKey.list.id)
        try await push(
            "Todo/set",
            .create([
                (child, row(["content": "mine", "listId": list], at: 1, here)),
                (friend, row(["content": "mine", "otherId": list], at: 1, here)),
            ]), from: here, 1)
        try await push("List/set", destroy(.list, at: 5, there, read: clock(0, there)), from: there, 2)
        let mine: JSON = [clock(1, here)]
        #expect(try await unread(child) == ["content": mine, "listId": mine])
        #expect(try await unread(friend) == ["otherId": mine])
        #expect(try await unread(.list) == nil)
    }

    @Test func `M7 M2: a cascade reports the deleting device's own values if its push did not name the row`()
        async throws
    {
        let child = RowKey.todo(1)
        try await push("List/set", .create([(.list, row(["name": "list"], at: 0, there))]), from: there, 1)
        try await push("Todo/set", .create([(child, row(["content": "theirs"], at: 0, there))]), from: there, 2)
        let move = row(["listId": .string(RowKey.list.id)], at: 1, here)
        try await push("Todo/set", ["update": [child.id: .object(move)]], from: here, 1)
        try await push("List/set", destroy(.list, at: 5, there, read: clock(0, there)), from: there, 3)
        #expect(try await unread(child) == ["content": [clock(0, there)], "listId": [clock(1, here)]])
    }

    @Test func `M7 M2: a new row below a deleted row reports no unread value of the push that created it`() async throws
    {
        try await push("List/set", .create([(.list, row(["name": "list"], at: 0, there))]), from: there, 1)
        try await push("List/set", destroy(.list, at: 5, there, read: clock(0, there)), from: there, 2)
        let child = RowKey.todo(1)
        let mine = row(["content": "mine", "listId": .string(RowKey.list.id)], at: 9, here)
        _ = try await served.call([("Todo/set", .create([(child, mine)]))], push: 1, device: here)
        #expect(try await unread(child) == nil)
    }

    @Test func `M7 M6: when rows merge, both report which of their values lost`() async throws {
        let (first, second) = (RowKey("Tag", RowKey.id(1)), RowKey("Tag", RowKey.id(2)))
        try await push(
            "Tag/set", .create([(first, row(["word": "work", "colour": "red"], at: 0, here))]), from: here, 1)
        try await push(
            "Tag/set", .create([(second, row(["word": "work", "colour": "blue"], at: 5, there))]), from: there, 1)
        #expect(try await unread(first) == ["colour": [clock(0, here)]])
        #expect(try await unread(second) == nil)
        let third = RowKey("Tag", RowKey.id(3))
        try await push(
            "Tag/set", .create([(third, row(["word": "work", "colour": "green"], at: 2, "deviceCC"))]),
            from: "deviceCC", 1)
        #expect(try await unread(third) == ["colour": [clock(2, "deviceCC")]])
    }

    @Test func `M7: a delete reports the values it ended unread, and a row keeps the latest 200`() async throws {
        try await push(
            "Todo/set", .create([(.todo, row(["content": "mine", "likes": 1], at: 0, here))]), from: here, 1)
        try await push("Todo/set", destroy(.todo, at: 5, there, read: [:]), from: there, 1)
        #expect(try await unread(.todo) == ["content": [clock(0, here)]])
        var memory = RowMemory()
        for number in 1...250 {
            let was = ["content": Cell(.int(Int64(number)), .at(Int64(number), "device\(number)"))]
            memory.noteEnded(was, by: there, having: ColumnClocks())
        }
        #expect(memory.unread["content"].count == RowMemory.maxUnread)
        #expect(memory.unread["content"].first == .at(51, "device51"))
    }
}
