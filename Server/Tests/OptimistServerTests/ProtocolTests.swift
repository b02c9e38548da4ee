// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The protocol over the embedded store, without HTTP.
@Suite(.timeLimit(.minutes(20)))
struct ProtocolTests {
    let site = Site()

    private func todo(_ number: Int, _ content: String = "x") -> JSONObject.Member {
        (RowKey.id(number), ["content": .string(content), "@hlc": .string(WriteClock.at(Int64(number)).description)])
    }

    private func create(_ numbers: some Sequence<Int>) -> JSON {
        ["create": .object(JSONObject(numbers.map { todo($0) }))]
    }

    @Test func `a push that changes something is one transaction with one seq`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        let first = try await server.call(person, [("todo/set", create([1])), ("todo/set", create([2]))], push: 1)
        let states = first.map { ($0.arguments["oldState"]?.string, $0.arguments["newState"]?.string) }
        let epoch = server.epoch
        #expect(states.allSatisfy { $0 == ("\(epoch).0", "\(epoch).1") })
        let again = try await server.call(person, "todo/set", create([1]), push: 2)
        #expect(again["newState"]?.string == "\(epoch).1")
        let rows = try await server.rows(account: person.account, type: "todo")
        #expect(rows.map(\.id) == [RowKey.id(1), RowKey.id(2)])
        #expect(rows.map(\.seq) == [1, 1])
    }

    @Test func `L3: a push number below the highest is pushRewound, and nothing is stored`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        _ = try await server.call(person, "todo/set", create([1]), push: 5)
        _ = try await server.call(person, "todo/set", create([2]), push: 5)
        let refusal = await #expect(throws: RequestProblem.self) {
            try await server.call(person, "todo/set", create([3]), push: 4)
        }
        #expect(refusal?.status == 409)
        #expect(refusal?.type == "urn:ietf:params:jmap:error:pushRewound")
        #expect(try await server.rows(account: person.account, type: "todo").count == 2)
        await #expect(throws: RequestProblem.self) { try await server.call(person, [], push: 4) }
        #expect(try await server.call(person, [], push: 5).isEmpty, "without rows it just asks")
        #expect(try await server.call(person, [], push: 0, device: "deviceBB").isEmpty)
        _ = try await server.call(person, [("todo/set", create([3]))], push: 1, device: "deviceBB")
        #expect(try await server.rows(account: person.account, type: "todo").count == 3)
    }

    @Test func `S2 groups hold across the calls of a push`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        let bad: JSON = ["create": [RowKey.id(2): ["content": .null, "@hlc": .string(WriteClock.at(0).description)]]]
        let answers = try await server.call(
            person, [("todo/set", create([1])), ("todo/set", bad), ("todo/set", create([3]))], push: 1,
            groups: [["todo:\(RowKey.id(1))", "todo:\(RowKey.id(2))"]])
        let errors = answers.map { SetAnswer(json: $0.arguments)?.notCreated.first?.error.type }
        #expect(errors == ["groupFailed", "invalidProperties", nil])
        #expect(try await server.rows(account: person.account, type: "todo").map(\.id) == [RowKey.id(3)])
    }

    @Test func `R1: pages of several tables end at a common state between transactions`() async throws {
        let server = try await site.open(schema: .projects)
        let person = try await server.signUp()
        let epoch = server.epoch
        for seq in 1...5 {
            let lists: JSONObject = [RowKey.list(seq).id: ["name": "l"]]
            let todos = JSONObject((0..<3).map { (RowKey.todo(seq * 10 + $0).id, ["content": "t"]) })
            _ = try await server.call(
                person, [("List/set", ["create": .object(lists)]), ("Todo/set", ["create": .object(todos)])],
                push: Int64(seq))
        }
        var state = "\(epoch).0"
        var pages: [(lists: Int, todos: Int, state: String)] = []
        repeat {
            let asked: JSON = ["sinceState": .string(state), "maxChanges": 7, "inline": true]
            let answers = try await server.call(person, [("List/changes", asked), ("Todo/changes", asked)])
            let read = try answers.map { try #require(InlineChanges(json: $0.arguments)) }
            #expect(read[0].newState == read[1].newState)
            #expect(read[0].hasMoreChanges == read[1].hasMoreChanges)
            state = read[0].newState
            pages.append((read[0].list.count, read[1].list.count, state))
            if !read[0].hasMoreChanges { break }
        } while pages.count < 10
        #expect(pages.map(\.lists) == [2, 2, 1])
        #expect(pages.map(\.todos) == [6, 6, 3])
        #expect(pages.map(\.state) == ["\(epoch).2.0.5", "\(epoch).4.0.5", "\(epoch).5"])
    }

    @Test func `R1: a transaction larger than a page is split, and rows that change between pages are not lost`()
        async throws
    {
        let server = try await site.open()
        let person = try await server.signUp()
        let epoch = server.epoch
        _ = try await server.call(person, "todo/set", create(1...5), push: 1)
        func page(_ state: String) async throws -> InlineChanges {
            let asked: JSON = ["sinceState": .string(state), "maxChanges": 2, "inline": true]
            return try #require(InlineChanges(json: await server.call(person, "todo/changes", asked)))
        }
        let first = try await page("\(epoch).0")
        #expect(first.newState == "\(epoch).0.2.1" && first.list.count == 2)
        _ = try await server.call(person, "todo/set", ["update": [RowKey.id(1): ["done": true]]])
        let second = try await page(first.newState)
        #expect(second.list.map(\.id) == [RowKey.id(3), RowKey.id(4)])
        let third = try await page(second.newState)
        #expect(third.list.map(\.id) == [RowKey.id(5), RowKey.id(1)])
        #expect(third.newState == "\(epoch).2" && !third.hasMoreChanges)
    }

    @Test func `deleted rows arrive with their clocks, unless the device starts empty`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        let epoch = server.epoch
        _ = try await server.call(person, "todo/set", create([1, 2]), push: 1)
        _ = try await server.call(
            person, "todo/set",
            [
                "destroy": [.string(RowKey.id(1))],
                "destroyClocks": [RowKey.id(1): ["@gen": 2, "@hlc": .string(WriteClock.at(9).description)]],
            ], push: 2)
        func page(_ seq: Int) async throws -> InlineChanges? {
            let asked: JSON = ["sinceState": .string("\(epoch).\(seq)"), "inline": true]
            return InlineChanges(json: try await server.call(person, "todo/changes", asked))
        }
        let tail = try await page(1)
        #expect(tail?.destroyed.map(\.id) == [RowKey.id(1)])
        #expect(tail?.destroyed.first?.tombstone == Tombstone(generation: 2, clock: .at(9), seq: 2))
        #expect(tail?.list.isEmpty == true)
        let all = try await page(0)
        #expect(all?.destroyed.map(\.id) == [RowKey.id(1)])
        #expect(all?.list.map(\.id) == [RowKey.id(2)])
        #expect(all?.list.first?.patch.clocks == ColumnClocks(common: .at(2)))
        #expect(all?.list.first?.patch.seq == 1)
    }

    @Test func `standard changes distinguish created, updated and destroyed rows`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        let epoch = server.epoch
        _ = try await server.call(person, "todo/set", create([1, 2]))
        _ = try await server.call(person, "todo/set", create([3, 4]))
        _ = try await server.call(
            person, "todo/set",
            [
                "update": [RowKey.id(1): ["done": true]], "destroy": [.string(RowKey.id(2)), .string(RowKey.id(3))],
            ])
        let changes = try await server.call(person, "todo/changes", ["sinceState": .string("\(epoch).1")])
        #expect(changes["created"] == [.string(RowKey.id(4))])
        #expect(changes["updated"] == [.string(RowKey.id(1))])
        #expect(changes["destroyed"] == [.string(RowKey.id(2))])
        #expect(changes["hasMoreChanges"] == false)
        let part = try await server.call(
            person, "todo/changes", ["sinceState": .string("\(epoch).0"), "maxChanges": 1])
        #expect(part["hasMoreChanges"] == true)
        #expect(part["newState"]?.string == "\(epoch).2.0.3")
    }

    @Test func `a standard client can use creation ids, ifInState, get and result references`() async throws {
        let server = try await site.open(schema: .projects)
        let person = try await server.signUp()
        let answers = try await server.call(
            person,
            [
                ("List/set", ["create": ["trip": ["name": "Trip"]]]),
                (
                    "Todo/set",
                    ["create": ["k1": ["content": "Tickets", "listId": "#trip"]], "update": ["#k1": ["done": true]]]
                ),
                ("Todo/get", ["ids": .null]),
                (
                    "Todo/get",
                    ["#ids": ["resultOf": "2", "name": "Todo/get", "path": "/list/*/id"], "properties": ["done"]]
                ),
                ("List/get", ["ids": ["nothing", "nothing"]]),
            ])
        let list = try #require(answers[0].arguments["created"]?["trip"]?["id"]?.string)
        #expect(RowID.isValid(list))
        let row = try #require(answers[2].arguments["list"]?.array?.first)
        #expect(row["content"] == "Tickets" && row["done"] == true && row["listId"]?.string == list)
        #expect(row["priority"] == .null)
        #expect(answers[3].arguments["list"] == [["id": row["id"] ?? .null, "done": true]])
        #expect(answers[4].arguments["notFound"] == ["nothing"])
        let twice = JSON.array([row["id"] ?? .null, row["id"] ?? .null])
        let got = try await server.call(person, "Todo/get", ["ids": twice])
        #expect(got["list"]?.array?.count == 1 && got["notFound"] == [])
        let state = try #require(answers[2].arguments["state"])
        let stale = try await server.call(
            person, [("Todo/set", ["ifInState": "e1.0", "destroy": [row["id"] ?? .null]])])
        #expect(stale[0].error == "stateMismatch")
        let fresh = try await server.call(
            person, [("Todo/set", ["ifInState": state, "destroy": [row["id"] ?? .null]])])
        #expect(fresh[0].arguments["destroyed"] == [row["id"] ?? .null])
    }

    @Test func `each invalid call is answered with its own error`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        let answers = try await server.call(
            person,
            [
                ("todo/query", [:]), ("nothing/set", create([1])),
                ("todo/set", ["create": [RowKey.id(1): ["@hlc": "x"]]]),
                ("todo/set", ["accountId": "a0", "create": [:]]), ("todo/get", ["ids": 5]),
                ("todo/get", ["properties": ["colour"]]), ("todo/changes", ["sinceState": "junk"]),
                ("todo/changes", ["sinceState": "e0.0", "inline": true]), ("todo/changes", ["sinceState": "e0.0"]),
                ("todo/get", ["#ids": ["resultOf": "9", "name": "x/get", "path": "/a"]]),
                ("todo/changes", ["sinceState": .string("\(server.epoch).1"), "inline": true]),
                ("Core/echo", ["hello": true]),
            ])
        #expect(
            answers.map(\.error) == [
                "unknownMethod", "unknownMethod", "invalidArguments", "accountNotFound", "invalidArguments",
                "invalidArguments", "cannotCalculateChanges", "forked", "cannotCalculateChanges",
                "invalidResultReference", "forked", nil,
            ])
        #expect(answers[11].arguments["hello"] == true)
        #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
    }

    @Test func `L1: an app that is too old gets schemaTooOld, and nothing that it sends is stored`() async throws {
        var schema = Schema.planner
        (schema.version, schema.minClientVersion) = (3, 2)
        let server = try await site.open(schema: schema)
        let person = try await server.signUp()
        let answer = try await server.call(person, [("todo/set", create([1]))], push: 1, schemaVersion: 1)[0]
        #expect(answer.error == "schemaTooOld" && answer.arguments["minClientVersion"] == 2)
        #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
    }

    @Test(.embedded) func `L3: after a restart, states of the previous epoch are valid up to its end`() async throws {
        let (person, first) = try await epochWithOnePush()
        let idle = try await site.open().epoch
        let server = try await site.open()
        #expect(Set([first, idle, server.epoch]).count == 3)
        _ = try await server.call(person, "todo/set", create([2]), push: 2)
        func ask(_ state: String) async throws -> Invocation {
            try await server.call(person, [("todo/changes", ["sinceState": .string(state), "inline": true])])[0]
        }
        #expect(try await InlineChanges(json: ask("\(first).1").arguments)?.list.map(\.id) == [RowKey.id(2)])
        #expect(try await ask("\(idle).1").error == nil)
        let forked = try await ask("\(first).2")
        #expect(forked.error == "forked")
        #expect(
            forked.arguments["epochs"]?.array?.map { $0["firstSeq"] } == [0, 1, 1])
    }

    private func epochWithOnePush() async throws -> (Person, String) {
        let server = try await site.open()
        let person = try await server.signUp()
        _ = try await server.call(person, "todo/set", create([1]), push: 1)
        return (person, server.epoch)
    }

    @Test func `a row is unchanged by storing and reading`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        let values: JSONObject = [
            "content": "line\n\"quoted\" \u{1F600} \u{7}", "date": "", "priority": -9_007_199_254_740_992,
            "done": false, "alarm": .null,
        ]
        let clocks: JSON = [
            "*": .string(WriteClock.at(1).description), "done": .string(WriteClock.at(2, "deviceBB").description),
        ]
        var row = values
        row.append("@hlc", clocks)
        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(1): .object(row)]], push: 1)
        let stored = try await server.rows(account: person.account, type: "todo")[0].patch
        #expect(stored.values == values)
        #expect(stored.clocks?.json == clocks)
        let repeated = try await server.call(person, "todo/set", ["create": [RowKey.id(1): .object(row)]], push: 1)
        #expect(repeated["newState"] == repeated["oldState"])
    }
}
