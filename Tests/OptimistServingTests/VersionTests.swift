// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Apps built against earlier versions of the schema.
@Suite(.timeLimit(.minutes(20)))
struct VersionTests {
    /// Version 3: `Task` was `Todo` until version 1, and its `title` was `name` until 1 and `content` until 2.
    private static let schema = Schema(
        id: "projects", version: 3,
        types: [
            "List": TypeSchema(columns: ["name": ColumnSchema(.string)]),
            "Secret": TypeSchema(
                columns: ["text": ColumnSchema(.string), "listId": ColumnSchema(.ref, target: "List")],
                minClientVersion: 2),
            "Task": TypeSchema(
                columns: [
                    "title": ColumnSchema(
                        .string, isRequired: true, maxBytes: 10,
                        formerNames: [FormerName("name", until: 1), FormerName("content", until: 2)]),
                    "listId": ColumnSchema(.ref, target: "List"), "colour": ColumnSchema(.string),
                ], formerNames: [FormerName("Todo", until: 1)]),
        ])
    private let served = Served(Self.schema)

    private func push(
        _ number: Int64, _ calls: [(String, JSON)], version: Int, groups: [[String]] = []
    ) async throws -> [Invocation] {
        try await served.call(calls, push: number, groups: groups, schemaVersion: version)
    }

    private func create(_ key: RowKey, _ row: JSON) -> JSON { ["create": .object([key.id: row])] }
    private func update(_ key: RowKey, _ row: JSON) -> JSON { ["update": .object([key.id: row])] }

    private func row(_ key: RowKey) throws -> StoredRow? {
        try served.store.reading(Served.account, as: .operator) { try $0.rows(type: key.type, ids: [key.id])[key.id] }
    }

    private let task = RowKey("Task", RowKey.id(1))
    private var clock: JSON { .string(WriteClock.at(0).description) }
    private var later: JSON { .string(WriteClock.at(5).description) }

    @Test func `L1: rows stored under former names, and references to them, follow the schema`() async throws {
        let first = Schema(
            id: "projects", version: 1,
            types: [
                "List": TypeSchema(columns: ["name": ColumnSchema(.string)]),
                "Todo": TypeSchema(columns: [
                    "name": ColumnSchema(.string), "list": ColumnSchema(.ref, target: "List", onDelete: .cascade),
                ]),
            ])
        let second = Schema(
            id: "projects", version: 2,
            types: [
                "Todo": TypeSchema(
                    columns: ["name": ColumnSchema(.string)], formerNames: [FormerName("List", until: 1)]),
                "Task": TypeSchema(
                    columns: [
                        "title": ColumnSchema(.string, formerNames: [FormerName("name", until: 1)]),
                        "todo": ColumnSchema(
                            .ref, target: "Todo", onDelete: .cascade, formerNames: [FormerName("list", until: 1)]),
                    ], formerNames: [FormerName("Todo", until: 1)]),
            ])
        let served = Served(first)
        let list = RowKey.id(7)
        _ = try await served.call([
            ("List/set", create(RowKey("List", list), ["name": "Trip"])),
            ("Todo/set", create(RowKey("Todo", RowKey.id(1)), ["name": "milk", "list": .string(list)])),
        ])
        served.restart("e2", by: second)
        func rows(_ type: String) async throws -> [JSON] {
            try await served.call("\(type)/get", ["ids": nil])["list"]?.array ?? []
        }
        #expect(try await rows("Task").map { $0["title"] } == ["milk"])
        #expect(try await rows("Todo").map { $0["name"] } == ["Trip"])
        let changes = try await served.call("Task/changes", ["sinceState": "e1.0", "inline": true])
        #expect(changes["list"]?.array?.first?["todo"]?.string == list)
        _ = try await served.call("Todo/set", .destroy(RowKey("Todo", list)))
        #expect(try await rows("Task").isEmpty)
    }

    @Test func `L1: an older app writes and reads under the names it knows`() async throws {
        let made = try await push(
            1,
            [("Todo/set", create(task, ["name": "a", "@hlc": ["name": clock, "listId": clock], "listId": nil]))],
            version: 1)
        #expect(made[0].name == "Todo/set")
        #expect(try row(task)?.row.cells["title"] == Cell("a", .at(0)))
        for (version, type, column) in [(1, "Todo", "name"), (2, "Task", "content"), (3, "Task", "title")] {
            let pulled = try await served.call(
                [
                    ("\(type)/changes", ["sinceState": "e1.0", "inline": true]), ("\(type)/changes", ["snapshot": [:]]),
                    ("\(type)/get", ["ids": nil, "properties": [.string(column)]]),
                ], schemaVersion: version)
            #expect(pulled.map(\.name) == ["\(type)/changes", "\(type)/changes", "\(type)/get"])
            for answer in pulled { #expect(answer.arguments["list"]?.array?.first?[column] == "a", "\(version)") }
            #expect(pulled[2].arguments["list"]?.array?.first?.object?.members.map(\.key) == ["id", column])
        }
    }

    @Test func `L1: clocks of single columns use the client's names`() async throws {
        _ = try await push(1, [("Task/set", create(task, ["title": "a", "@hlc": clock]))], version: 3)
        _ = try await push(2, [("Task/set", update(task, ["colour": "red", "@hlc": later]))], version: 3)
        let page = try await served.call("Todo/changes", ["snapshot": [:]], schemaVersion: 1)
        let clocks = page["list"]?.array?.first?["@hlc"]?.object
        #expect(clocks.map { Set($0.members.map(\.key)) }?.contains("title") == false)
        let patch = page["list"]?.array?.first?.object.flatMap { RowPatch(json: $0) }
        #expect(patch?.clocks?["name"] == .at(0))
        #expect(patch?.clocks?["colour"] == .at(5), "a column unknown to the app is sent nevertheless")
    }

    @Test func `L1: answers about a row use the client's names`() async throws {
        _ = try await push(1, [("Task/set", create(task, ["title": "now", "@hlc": later]))], version: 3)
        let won = try await push(2, [("Todo/set", update(task, ["name": "then", "@hlc": clock]))], version: 1)
        #expect(won[0].arguments["updated"]?[task.id]?["name"] == "now")
        let long = try await push(3, [("Todo/set", update(task, ["name": "far too long", "@hlc": later]))], version: 1)
        let error = long[0].arguments["notUpdated"]?[task.id]
        #expect(error?["properties"] == ["name"])
        #expect(error?["current"]?["name"] == "now")
        let refused = try await push(
            4,
            [
                (
                    "Todo/set",
                    ["create": .object([RowKey.id(2): ["@hlc": clock], RowKey.id(3): ["name": "c", "@hlc": clock]])]
                )
            ], version: 1, groups: [["Todo:\(RowKey.id(2))", "Todo:\(RowKey.id(3))"]])
        #expect(refused[0].arguments["notCreated"]?[RowKey.id(2)]?["properties"] == ["name"])
        #expect(refused[0].arguments["notCreated"]?[RowKey.id(3)]?["by"] == [.string("Todo:\(RowKey.id(2))")])
    }

    @Test func `L1: one type may require a newer app, and the others sync`() async throws {
        let list = RowKey("List", RowKey.id(7))
        let answers = try await push(
            1,
            [
                ("Secret/set", create(RowKey("Secret", RowKey.id(8)), ["text": "a", "@hlc": clock])),
                ("List/set", create(list, ["name": "b", "@hlc": clock])),
                ("Secret/changes", ["sinceState": "e1.0", "inline": true]),
                ("List/changes", ["sinceState": "e1.0", "inline": true]),
            ], version: 1)
        #expect(answers[0].arguments["type"] == "schemaTooOld")
        #expect(answers[0].arguments["minClientVersion"] == 2)
        #expect(answers[1].arguments["created"]?[list.id] != nil)
        #expect(answers[2].arguments["type"] == "schemaTooOld")
        #expect(answers[3].arguments["list"]?.array?.count == 1)
        let newer = try await served.call("Secret/changes", ["snapshot": [:]], schemaVersion: 2)
        #expect(newer["list"] == [])
    }

    @Test(arguments: [false, true])
    func `L1 S2: a group with a row of a type that requires a newer app is deferred as a unit`(secretFirst: Bool)
        async throws
    {
        let (secret, list) = (RowKey("Secret", RowKey.id(8)), RowKey("List", RowKey.id(7)))
        let calls: [(String, JSON)] = [
            ("List/set", create(list, ["name": "b", "@hlc": clock])),
            ("Secret/set", create(secret, ["text": "a", "listId": .string(list.id), "@hlc": clock])),
        ]
        let answers = try await push(
            1, secretFirst ? calls.reversed() : calls, version: 1, groups: [[list.description, secret.description]])
        let answer = answers[secretFirst ? 1 : 0]
        #expect(answer.arguments["notCreated"]?[list.id]?["type"] == "groupFailed")
        #expect(answer.arguments["notCreated"]?[list.id]?["by"] == [.string(secret.description)])
        #expect(try row(list) == nil)
        let again = try await push(1, calls, version: 2, groups: [[list.description, secret.description]])
        #expect(again.allSatisfy { $0.arguments["created"]?.object != nil })
    }

    @Test func `L1 M2: an older app keeps columns it does not know, and its new lives begin without them`()
        async throws
    {
        _ = try await push(
            1, [("Task/set", create(task, ["title": "a", "colour": "red", "@hlc": clock]))], version: 3)
        _ = try await push(2, [("Todo/set", create(task, ["name": "b", "@hlc": later]))], version: 1)
        #expect(try row(task)?.row.cells["colour"]?.value == "red")
        #expect(try row(task)?.row.cells["title"]?.value == "b")
        _ = try await push(3, [("Todo/set", create(task, ["name": "c", "@gen": 3, "@hlc": later]))], version: 1)
        #expect(try row(task)?.row.cells.keys.sorted() == ["title"])
    }

    @Test func `L1: a newer app's columns get schemaTooNew and its tables unknownMethod until the server knows them`()
        async throws
    {
        let row: JSON = ["title": "a", "shape": "round", "@hlc": clock]
        let newer = try await push(1, [("Task/set", create(task, row)), ("Shape/set", create(task, row))], version: 4)
        #expect(newer[0].arguments["notCreated"]?[task.id]?["type"] == "schemaTooNew")
        #expect(newer[0].arguments["notCreated"]?[task.id]?["properties"] == ["shape"])
        #expect(newer[1].arguments["type"] == "unknownMethod")
        #expect(
            newer[1].arguments["description"]?.string?.hasPrefix("The schema does not have the type \"Shape\"") == true)
    }

    @Test(arguments: [nil, 2, 3, 4])
    func `L1: a column that the server does not know is deferred, whatever version the app names`(version: Int?)
        async throws
    {
        let row: JSON = ["title": "a", "content": "a", "shape": "round", "@hlc": clock]
        let known = row.object.map {
            JSON.object(JSONObject($0.filter { $0.key != (version == 2 ? "title" : "content") }))
        }
        let pushed = try await served.call(
            [("Task/set", create(task, known ?? .null))], push: 1, schemaVersion: version)
        #expect(pushed[0].arguments["notCreated"]?[task.id]?["type"] == "schemaTooNew")
        #expect(pushed[0].arguments["notCreated"]?[task.id]?["properties"] == ["shape"])
        let plain = try await served.call("Task/set", create(task, ["title": "a", "shape": "round"]))
        #expect(
            plain["notCreated"]?[task.id]?["type"] == "invalidProperties",
            "a client without a push number gets the error")
    }

    @Test func `L1: a value that only a newer schema allows is deferred, and refused from a current app`()
        async throws
    {
        for row: JSON in [
            ["title": nil, "@hlc": clock], ["title": "far too long", "@hlc": clock], ["title": 5, "@hlc": clock],
            ["@hlc": clock],
        ] {
            let newer = try await push(1, [("Task/set", create(task, row))], version: 4)
            #expect(newer[0].arguments["notCreated"]?[task.id]?["type"] == "valueTooNew", "\(row)")
            #expect(newer[0].arguments["notCreated"]?[task.id]?["properties"] == ["title"])
            let present = try await push(1, [("Task/set", create(task, row))], version: 3)
            let error = present[0].arguments["notCreated"]?[task.id]?["type"]
            #expect(error == "invalidProperties" || error == "tooLarge", "\(row)")
        }
        let odd = try await push(2, [("Task/set", create(task, ["title": "a", "@gen": 2, "@hlc": clock]))], version: 4)
        #expect(odd[0].arguments["notCreated"]?[task.id]?["type"] == "invalidProperties", "no schema allows this value")
    }

    @Test func `L1: a value deferred for a newer schema is refused a week after it was written`() async throws {
        let written = JSON.string(
            WriteClock(stamp: Stamp(milliseconds: 1_800_000_000_000), device: "deviceAA").description)
        let row: JSON = ["title": "far too long", "@hlc": written]
        for (number, (days, type)) in [(0.0, "valueTooNew"), (6.9, "valueTooNew"), (0.2, "tooLarge")].enumerated() {
            served.advance(days: days)
            let answer = try await push(Int64(number + 1), [("Task/set", create(task, row))], version: 4)
            #expect(answer[0].arguments["notCreated"]?[task.id]?["type"]?.string == type)
        }
        let unknown = try await push(
            4, [("Task/set", create(task, ["title": "a", "shape": "round", "@hlc": written]))], version: 4)
        #expect(
            unknown[0].arguments["notCreated"]?[task.id]?["type"] == "schemaTooNew", "an unknown column waits for ever")
    }

    @Test func `L1 G3: the app's own check refuses newer apps' rows as well`() async throws {
        let served = Served(
            Self.schema,
            rowValidation: RowValidation([
                "Task": { row in
                    row.values["title"] == "no" ? RowFault("notThat", "Not that.", columns: ["title"]) : nil
                }
            ]))
        let answer = try await served.call(
            [("Task/set", create(task, ["title": "no", "@hlc": clock]))], push: 1, schemaVersion: 4)
        let error = answer[0].arguments["notCreated"]?[task.id]
        #expect(error?["type"] == "invalidProperties" && error?["code"] == "notThat")
    }

    @Test func `L1: each version of the schema has its own table names`() {
        #expect(Self.schema.typeNames(at: 1) == ["List", "Secret", "Todo"])
        #expect(Self.schema.typeNames(at: 2) == ["List", "Secret", "Task"])
        let vocabulary = Vocabulary(Self.schema, version: 3)
        #expect(vocabulary.isPresent)
        #expect(Vocabulary(Self.schema, version: nil).isPresent)
    }
}
