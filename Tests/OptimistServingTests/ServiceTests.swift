// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// The protocol over the in-memory store: groups, counters and merged rows.
@Suite(.timeLimit(.minutes(20)))
struct ServiceTests {
    private let service: JMAPService

    init() {
        var schema = ModelStore.projects
        schema.types["Todo"]?.columns["likes"] = ColumnSchema(.counter)
        schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"], onCollision: .mergeInto)]
        service = JMAPService(
            store: InMemorySyncStore(accounts: ["a"], epoch: "e1"),
            settings: ServingSettings(schema: schema, makeRowID: { RowKey.id(0xF00) })
        ) { Date(timeIntervalSince1970: 1_800_000_000) }
    }

    private func answer(
        _ calls: [(String, JSON)], push: Int64? = nil, device: String = "deviceAA", groups: [[String]] = [],
        origins: [String] = []
    ) async throws -> [Invocation] {
        let invocations = calls.enumerated().map { index, call in
            var arguments = call.1.object ?? [:]
            arguments["accountId"] = "a"
            return Invocation(call.0, arguments, callID: "\(index)")
        }
        let request = Request(
            methodCalls: invocations, device: device, push: push, groups: groups, origins: origins)
        let outcome = try await service.answer(request.json.bytes, as: .person("a"))
        return try #require(Response(json: JSON(parsing: outcome.response))).methodResponses
    }

    private func todo(_ number: Int, _ values: JSONObject = [:], device: String = "deviceAA") -> JSON {
        var row = values
        row["content"] = "x"
        row["@hlc"] = .string(WriteClock.at(Int64(number), device).description)
        return ["create": [RowKey.todo(number).id: .object(row)]]
    }

    private func page(_ type: String, device: String, origins: [String] = []) async throws -> InlineChanges {
        let asked: JSON = ["sinceState": "e1.0", "inline": true]
        let answers = try await answer([("\(type)/changes", asked)], device: device, origins: origins)
        return try #require(InlineChanges(json: answers[0].arguments))
    }

    @Test func `S2 an unreadable call fails the groups that contain its rows, in calls before and after it`()
        async throws
    {
        let bad: JSON = ["create": [RowKey.list(1).id: "nonsense"]]
        let group = [RowKey.todo(1).description, RowKey.list(1).description]
        for calls in [[("Todo/set", todo(1)), ("List/set", bad)], [("List/set", bad), ("Todo/set", todo(1))]] {
            let answers = try await answer(
                calls + [("Todo/set", todo(2))], push: 1, groups: [group, [RowKey.todo(2).description]])
            #expect(answers.contains { $0.name == "error" && $0.arguments["type"] == "invalidArguments" })
            let sets = answers.compactMap { $0.name == "error" ? nil : SetAnswer(json: $0.arguments) }
            #expect(sets.flatMap(\.notCreated).map(\.error.type) == ["groupFailed"])
            #expect(sets.flatMap(\.notCreated).first?.error.blockedBy == [RowKey.list(1).description])
            #expect(sets.flatMap(\.created).map(\.id) == [RowKey.todo(2).id])
        }
    }

    @Test func `a request with groups but no push number is refused`() async throws {
        let refusal = await #expect(throws: RequestProblem.self) {
            try await answer([("Todo/set", todo(1))], groups: [[RowKey.todo(1).description]])
        }
        #expect(refusal?.type.hasSuffix("notRequest") == true && refusal?.status == 400)
    }

    @Test func `M3 a request may name as many origins as a device can have, and no more`() async throws {
        _ = try await answer([("Todo/set", todo(1, ["likes": ["@total": 3]]))], push: 1)
        let origins = (1..<RowSync.Limit.originsInRequest).map { "device\($0)" } + ["deviceAA"]
        let row = try await page("Todo", device: "deviceBB", origins: origins).list.first?.patch
        #expect(row?.mine == ["likes": ["deviceAA": 3]])
        let refusal = await #expect(throws: RequestProblem.self) {
            try await page("Todo", device: "deviceBB", origins: origins + ["deviceBB"])
        }
        #expect(refusal?.type.hasSuffix("notRequest") == true && refusal?.status == 400)
        #expect(refusal?.detail == "A request may contain at most 5000 origins, not 5001.")
    }

    @Test func `M3 pages and answers show a counter's sum and the requesting origins' own totals`()
        async throws
    {
        _ = try await answer([("Todo/set", todo(1, ["likes": ["@total": 3]]))], push: 1)
        let update: JSON = [
            "update": [
                RowKey.todo(1).id: ["likes": ["@total": 4], "@hlc": .string(WriteClock.at(5, "deviceBB").description)]
            ]
        ]
        let answers = try await answer([("Todo/set", update)], push: 1, device: "deviceBB")
        #expect(answers[0].arguments["updated"]?[RowKey.todo(1).id] == .null)
        for (device, origins, mine) in [
            ("deviceAA", [], ["deviceAA": 3]), ("deviceCC", [], [:]),
            ("deviceCC", ["deviceAA", "deviceBB"], ["deviceAA": 3, "deviceBB": 4]),
        ] as [(String, [String], [String: Int64])] {
            let row = try await page("Todo", device: device, origins: origins).list.first?.patch
            #expect(row?.values["likes"] == 7)
            #expect(row?.mine == (mine.isEmpty ? [:] : ["likes": mine]))
        }
        let got = try await answer([("Todo/get", ["ids": .null])])[0].arguments["list"]?.array?.first
        #expect(got?["likes"] == 7 && got?["@mine"] == ["likes": ["deviceAA": 3]])
    }

    @Test func `M6 the answer and the tombstone of a merged row name the surviving row`() async throws {
        func list(_ number: Int) -> JSON {
            ["create": [RowKey.list(number).id: ["name": "Trip", "@hlc": .string(WriteClock.at(0).description)]]]
        }
        _ = try await answer([("List/set", list(1))], push: 1)
        let answers = try await answer([("List/set", list(2))], push: 2)
        let created = answers[0].arguments["created"]?[RowKey.list(2).id]
        #expect(created == ["id": .string(RowKey.list(2).id), "@mergedInto": .string(RowKey.list(1).id)])
        #expect(SetAnswer(json: answers[0].arguments)?.created.first?.won?.mergedInto == RowKey.list(1).id)
        let asked: JSON = ["sinceState": "e1.1", "inline": true]
        let changes = try await answer([("List/changes", asked)])
        let page = try #require(InlineChanges(json: changes[0].arguments))
        #expect(page.destroyed.map(\.tombstone.mergedInto) == [RowKey.list(1).id])
    }

    @Test func `the service reports which types changed, including those its deletes reached`() async throws {
        var schema = ModelStore.projects
        schema.types["Todo"]?.columns["listId"]?.onDelete = .cascade
        let service = JMAPService(
            store: InMemorySyncStore(accounts: ["a"], epoch: "e1"),
            settings: ServingSettings(schema: schema, makeRowID: { RowKey.id(0xF00) })
        ) { Date(timeIntervalSince1970: 1_800_000_000) }
        func send(_ name: String, _ arguments: JSONObject) async throws -> JMAPService.Outcome {
            var arguments = arguments
            arguments["accountId"] = "a"
            return try await service.answer(
                Request(methodCalls: [Invocation(name, arguments, callID: "0")]).json.bytes, as: .person("a"))
        }
        _ = try await send("List/set", ["create": [RowKey.list(1).id: ["name": "l"]]])
        let todo = try await send(
            "Todo/set", ["create": [RowKey.todo(1).id: ["content": "x", "listId": .string(RowKey.list(1).id)]]])
        #expect(todo.changes.map(\.types) == [["Todo"]] && todo.changes.map(\.state.seq) == [2])
        let both = try await send("List/set", ["destroy": [.string(RowKey.list(1).id)]])
        #expect(both.changes.map(\.types) == [["List", "Todo"]] && both.changes.map(\.state.seq) == [3])
        #expect(try await send("List/get", ["ids": .null]).changes.isEmpty)
    }
}
