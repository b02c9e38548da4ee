// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

/// Clients that know only RFC 8620.
@Suite(.timeLimit(.minutes(20)))
struct StandardClientTests {
    private static let schema = Schema(
        id: "projects",
        types: [
            "List": TypeSchema(
                columns: ["name": ColumnSchema(.string)],
                uniqueIndexes: [UniqueIndex(["name"], onCollision: .mergeInto)]),
            "Todo": TypeSchema(columns: [
                "content": ColumnSchema(.string, isRequired: true), "done": ColumnSchema(.bool),
                "likes": ColumnSchema(.counter), "priority": ColumnSchema(.int),
                "listId": ColumnSchema(.ref, target: "List"),
            ]),
        ])
    private let served = Served(Self.schema)
    private let standard = [RowSync.core]
    private let both = [RowSync.core, RowSync.capability]

    private func ask(_ name: String, _ arguments: JSON) async throws -> JSONObject {
        try await served.call([(name, arguments)], using: standard)[0].arguments
    }

    private func row(_ key: RowKey = .standing) throws -> StoredRow? {
        try served.store.reading(Served.account, as: .operator) { try $0.rows(type: key.type, ids: [key.id])[key.id] }
    }

    private func given(_ values: JSONObject = [:], push: Int64 = 1) async throws {
        var row: JSONObject = ["content": "a", "done": false, "@hlc": .string(WriteClock.at(1).description)]
        for (column, value) in values { row[column] = value }
        let made = try await served.call("Todo/set", .create([(.standing, row)]), push: push)
        #expect(made["created"]?[RowKey.standing.id] != nil, "\(made)")
    }

    // MARK: - Whole rows

    @Test func `M1: a client may send back a complete row with one property changed`() async throws {
        try await given(["likes": ["@total": 3]])
        for using in [standard, both] {
            let got = try await served.call([("Todo/get", ["ids": [.string(RowKey.standing.id)]])], using: using)
            var whole = try #require(got[0].arguments["list"]?.array?.first?.object)
            whole["content"] = .string("by \(using.count)")
            let answer = try await served.call([("Todo/set", .update(.standing, whole))], using: using)
            #expect(answer[0].arguments["notUpdated"]?.isNull == true, "\(answer[0].arguments)")
            #expect(try row()?.row.cells["content"]?.value == whole["content"])
            #expect(try row()?.row.cells["done"]?.clock == .at(1), "an unchanged property is not a write")
            #expect(try row()?.row.cells["priority"]?.value.isNull != false)
            #expect(try row()?.row.sum(of: "likes") == 3)
        }
    }

    @Test func `M1: a client that received the clocks of its write may use these clocks in its next write`()
        async throws
    {
        try await given()
        var whole: JSONObject = ["content": "b", "@gen": 1, "@hlc": .string(WriteClock.at(1).description)]
        for text in ["b", "c", "aa"] {
            whole["content"] = .string(text)
            let answer = try await served.call("Todo/set", .update(.standing, whole))
            for (name, value) in answer["updated"]?[RowKey.standing.id]?.object ?? [:] { whole[name] = value }
            #expect(try row()?.row.cells["content"]?.value.string == text)
        }
        let (state, again) = (try row()?.seq, try await served.call("Todo/set", .update(.standing, whole)))
        #expect(again["updated"]?[RowKey.standing.id] == .null)
        #expect(try row()?.seq == state, "S3 a repetition changes nothing")
    }

    @Test func `M1: in a push, of two values under one clock the one with larger bytes wins, in either order`()
        async throws
    {
        try await given()
        var update: JSONObject = ["content": "b", "@hlc": .string(WriteClock.at(1).description)]
        _ = try await served.call("Todo/set", .update(.standing, update), push: 2)
        #expect(try row()?.row.cells["content"] == Cell("b", .at(1)))
        update["content"] = "a"
        _ = try await served.call("Todo/set", .update(.standing, update), push: 3)
        #expect(try row()?.row.cells["content"] == Cell("b", .at(1)))
    }

    @Test func `only clients that name the capability receive clocks and generations`() async throws {
        try await given(["likes": ["@total": 3]])
        let other: JSONObject = ["content": "x", "@hlc": .string(WriteClock.at(1).description)]
        _ = try await served.call("Todo/set", .create([(RowKey("Todo", RowKey.id(9)), other)]), push: 2)
        let answers = try await served.call(
            [
                ("Todo/get", ["ids": nil]), ("Todo/changes", ["sinceState": "e1.0"]),
                ("Todo/set", .update(.standing, ["content": "b", "done": true])),
                ("Todo/set", ["create": ["k": ["content": "c", "@hlc": "nonsense", "@gen": "x"]]]),
                ("Todo/set", .update(RowKey("Todo", RowKey.id(9)), ["content": 5])),
            ], using: standard)
        for answer in answers { #expect(!answer.json.description.contains("@"), "\(answer)") }
        #expect(answers[2].arguments["updated"] == [RowKey.standing.id: nil])
        #expect(answers[4].arguments["notUpdated"]?[RowKey.id(9)]?["type"] == "invalidProperties")
        #expect(answers[4].arguments["notUpdated"]?[RowKey.id(9)]?["current"] == nil)
        #expect(answers[3].arguments["created"]?["k"]?["id"] != nil)
        let asked = try await served.call([("Todo/get", ["ids": nil, "properties": ["@hlc"]])], using: standard)
        #expect(asked[0].arguments["type"] == "invalidArguments")
    }

    // MARK: - Capabilities

    @Test func `arguments of the capability are refused if the request does not name it`() async throws {
        let answers = try await served.call(
            [
                ("Todo/changes", ["sinceState": "e1.0", "inline": true]), ("Todo/changes", ["snapshot": [:]]),
                ("Todo/set", ["destroy": [], "destroyClocks": [:]]),
            ], using: standard)
        for answer in answers {
            #expect(answer.arguments["type"] == "invalidArguments")
            #expect(answer.arguments["description"]?.string?.contains(RowSync.capability) == true)
        }
        let refusal = await #expect(throws: RequestProblem.self) {
            try await served.call([("Todo/get", ["ids": nil])], push: 1, using: standard)
        }
        #expect(refusal?.type.hasSuffix("notRequest") == true)
        #expect(try await served.call([("Core/echo", [:])], using: [])[0].arguments["type"] == "unknownMethod")
        let unknown = await #expect(throws: RequestProblem.self) { try await served.call([], using: ["urn:x"]) }
        #expect(unknown?.type.hasSuffix("unknownCapability") == true)
    }

    // MARK: - Creation ids

    @Test func `createdIds resolve to rows of an earlier request, and the answer returns old and new ones`()
        async throws
    {
        let first = try await served.answer(
            [
                ("List/set", ["create": ["trip": ["name": "Trip"], "bad": ["name": 5]]]),
                ("Todo/set", ["create": ["k": ["content": "x", "listId": "#bad"]]]),
            ], using: standard, createdIDs: [:])
        #expect(first.createdIDs?.keys.sorted() == ["trip"])
        let notCreated = first.methodResponses[1].arguments["notCreated"]?["k"]
        #expect(notCreated?["type"] == "invalidProperties" && notCreated?["properties"] == ["listId"])
        let id = RowKey.id(7)
        let second = try await served.answer(
            [
                ("Todo/set", ["create": [id: ["content": "x", "listId": "#trip"]]]),
                ("Todo/set", .update(RowKey("Todo", "#\(id)"), ["done": true])),
            ], using: standard, createdIDs: first.createdIDs)
        let trip = try #require(first.createdIDs?["trip"])
        #expect(second.createdIDs == ["trip": trip, id: id])
        #expect(second.methodResponses[1].arguments["updated"] == [id: nil])
        #expect(try row(RowKey("Todo", id))?.row.cells["listId"]?.value.string == trip)
        #expect(try await served.answer([("Todo/get", ["ids": nil])], using: standard).createdIDs == nil)
        let odd = #"{"using":["urn:ietf:params:jmap:core"],"methodCalls":[],"createdIds":{"a":5}}"#
        #expect(throws: RequestProblem.self) { try Request(reading: odd.utf8) }
    }

    @Test func `M6: creating a row that is merged returns the surviving row's id`() async throws {
        let first = try await served.answer(
            [("List/set", ["create": ["a": ["name": "Trip"]]])], using: standard, createdIDs: [:])
        let winner = try #require(first.createdIDs?["a"])
        for creation in ["b", RowKey.id(5)] {
            let second = try await served.answer(
                [
                    ("List/set", ["create": .object([creation: ["name": "Trip"]])]),
                    ("Todo/set", ["create": ["k": ["content": "x", "listId": .string("#\(creation)")]]]),
                ], using: standard, createdIDs: [:])
            #expect(second.methodResponses[0].arguments["created"] == .object([creation: ["id": .string(winner)]]))
            #expect(second.createdIDs?[creation] == winner)
            let todo = try #require(second.createdIDs?["k"])
            #expect(try row(RowKey("Todo", todo))?.row.cells["listId"]?.value.string == winner)
        }
    }

    // MARK: - One row, named twice

    @Test func `a row named twice in one call is answered once`() async throws {
        try await given()
        let id = RowKey.standing.id
        let answer = try await ask(
            "Todo/set", ["update": [id: ["done": true]], "destroy": [.string(id), .string(id), "nothing", "nothing"]])
        #expect(answer["destroyed"] == [.string(id)])
        #expect(answer["updated"] == .null)
        #expect(answer["notUpdated"]?[id]?["type"] == "willDestroy")
        #expect(answer["notDestroyed"]?.object?.map(\.key) == ["nothing"])
        #expect(try row()?.row.isAlive == false)
    }

    @Test func `a row may be created, updated and destroyed in one call`() async throws {
        let answer = try await ask(
            "Todo/set",
            ["create": ["k": ["content": "a"]], "update": ["#k": ["done": true]], "destroy": ["#k"]])
        let id = try #require(answer["created"]?["k"]?["id"])
        #expect(answer["destroyed"] == [id])
        #expect(answer["notCreated"] == .null)
        #expect(answer["notUpdated"]?["#k"]?["type"] == "willDestroy")
        let twice = try await ask(
            "Todo/set",
            [
                "create": [RowKey.id(3): ["content": "a"]],
                "update": [
                    RowKey.id(3): ["done": true], "#\(RowKey.id(3))": ["done": false],
                ],
            ])
        #expect(twice["updated"] == [RowKey.id(3): nil])
        #expect(twice["notUpdated"]?["#\(RowKey.id(3))"]?["type"] == "invalidPatch")
    }

    // MARK: - Wrong types

    @Test func `an id in a patch must be the row's own`() async throws {
        try await given()
        let id = RowKey.standing.id
        let other = try await ask("Todo/set", .update(.standing, ["id": .string(RowKey.id(9)), "done": true]))
        #expect(other["notUpdated"]?[id]?["type"] == "invalidProperties")
        #expect(other["notUpdated"]?[id]?["properties"] == ["id"])
        #expect(try row()?.row.cells["done"]?.value == false)
        let own = try await ask("Todo/set", .update(.standing, ["id": .string(id), "done": true]))
        #expect(own["updated"] == [id: nil])
        let made = try await ask("Todo/set", ["create": ["k": ["id": "k", "content": "x"]]])
        #expect(made["notCreated"]?["k"]?["properties"] == ["id"])
    }

    @Test(
        arguments: [
            ("changes", ["sinceState": "e1.0", "maxChanges": "5"]),
            ("changes", ["sinceState": "e1.0", "maxChanges": 1.5]),
            ("changes", ["sinceState": "e1.0", "inline": 1]), ("changes", ["snapshot": [:], "maxChanges": true]),
            ("set", ["ifInState": 5]), ("set", ["destroy": [], "destroyClocks": 5]),
            ("set", ["destroy": ["x"], "destroyClocks": ["x": ["@gen": "2"]]]),
        ] as [(String, JSON)])
    func `an argument of a wrong type is invalidArguments, never ignored`(verb: String, arguments: JSON)
        async throws
    {
        let answer = try await served.call("Todo/\(verb)", arguments)
        #expect(answer["type"] == "invalidArguments")
    }
}

extension RowKey {
    fileprivate static let standing = RowKey("Todo", id(1))
}
