// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// Requests that name several accounts, on the database store and the in-memory store.
@Suite(.timeLimit(.minutes(20)))
struct SeveralAccountsPushTests {
    typealias Kind = StoresTests.Kind

    private static let accounts = (1...9).map { "a\($0)" }

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    private func service(_ kind: Kind, hook: GroupHook? = nil) async throws -> JMAPService {
        var schema = Schema.projects
        schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"])]
        let store: any SyncStore =
            switch kind {
            case .durable: try await place.open(epoch: "e1", schema: schema, accounts: Self.accounts)
            case .inMemory: InMemorySyncStore(accounts: Self.accounts, epoch: "e1")
            }
        let settings = ServingSettings(
            schema: schema, makeRowID: { UUID().uuidString.lowercased() }, workBudget: .unlimited,
            hook: hook)
        return JMAPService(store: store, settings: settings, now: { Date(timeIntervalSince1970: 1_800_000_000) })
    }

    private static func call(_ name: String, _ account: String, _ arguments: JSONObject) -> Invocation {
        var arguments = arguments
        arguments["accountId"] = .string(account)
        return Invocation(name, arguments, callID: account)
    }

    private static func list(_ number: Int, _ account: String, name: String? = nil) -> Invocation {
        let row: JSON = ["name": .string(name ?? "list \(number)"), "@hlc": .string(WriteClock.at(0).description)]
        return call("List/set", account, ["create": [RowKey.list(number).id: row]])
    }

    private static func todo(_ number: Int, _ account: String, in list: Int? = nil) -> Invocation {
        var row: JSONObject = ["content": "x", "@hlc": .string(WriteClock.at(0).description)]
        if let list { row["listId"] = .string(RowKey.list(list).id) }
        return call("Todo/set", account, ["create": [RowKey.todo(number).id: .object(row)]])
    }

    private func send(
        _ calls: [Invocation], to service: JMAPService, push: Int64? = nil, groups: [[RowKey]] = [],
        as reader: Reader = .operator
    ) async throws -> (outcome: JMAPService.Outcome, answers: [Invocation]) {
        let request = Request(
            methodCalls: calls, device: push == nil ? nil : "deviceAA", push: push,
            groups: groups.map { $0.map(\.description) })
        let outcome = try await service.answer(request.json.bytes, as: reader)
        return (outcome, try #require(Response(json: JSON(parsing: outcome.response))).methodResponses)
    }

    private func refusals(_ answers: [Invocation]) throws -> [[String]] {
        try answers.map { try #require(SetAnswer(json: $0.arguments)).notCreated.map(\.error.type) }
    }

    // MARK: - Groups

    @Test(arguments: Kind.allCases)
    func `S2 a group over two accounts is refused or applied together, and a third account is not affected`(
        kind: Kind
    ) async throws {
        let service = try await service(kind)
        let groups: [[RowKey]] = [[.list(1), .todo(2)]]
        let bad = Self.call("Todo/set", "a2", ["create": [RowKey.todo(2).id: ["content": 7]]])
        let refused = try await send(
            [Self.list(1, "a1"), bad, Self.todo(3, "a3")], to: service, push: 1, groups: groups)
        #expect(try refusals(refused.answers) == [["groupFailed"], ["invalidProperties"], []])
        #expect(refused.outcome.changes.map(\.account) == ["a3"])
        let applied = try await send(
            [Self.list(1, "a1"), Self.todo(2, "a2"), Self.todo(3, "a3")], to: service, push: 2, groups: groups)
        #expect(try refusals(applied.answers) == [[], [], []])
        #expect(applied.outcome.changes.map(\.account) == ["a1", "a2"])
        #expect(applied.outcome.changes.map(\.types) == [["List"], ["Todo"]])
        #expect(applied.outcome.changes.map(\.state.seq) == [1, 1])
        #expect(applied.answers.map { $0.arguments["newState"] } == ["e1.1", "e1.1", "e1.1"])
        #expect(applied.answers.map { $0.arguments["oldState"] } == ["e1.0", "e1.0", "e1.1"])
    }

    @Test(arguments: Kind.allCases)
    func `S2 a failure passes through groups and references from account to account until none is left`(
        kind: Kind
    ) async throws {
        let service = try await service(kind)
        _ = try await send([Self.list(9, "a1", name: "taken")], to: service, push: 1)
        // The list in a1 collides, its group loses the list in a2, whose to-do loses its group's to-do in a3.
        let calls = [
            Self.list(1, "a1", name: "taken"), Self.list(2, "a2"), Self.todo(3, "a2", in: 2), Self.todo(4, "a3"),
            Self.todo(5, "a3"),
        ]
        let answers = try await send(
            calls, to: service, push: 2, groups: [[.list(1), .list(2)], [.todo(3), .todo(4)]]
        ).answers
        #expect(
            try refusals(answers) == [["uniqueViolation"], ["groupFailed"], ["blocked"], ["groupFailed"], []])
    }

    @Test(arguments: Kind.allCases)
    func `unique values, references and ids belong to one account`(kind: Kind) async throws {
        let service = try await service(kind)
        let answers = try await send(
            [Self.list(1, "a1", name: "same"), Self.list(2, "a2", name: "same"), Self.todo(3, "a2", in: 1)],
            to: service, push: 1
        ).answers
        #expect(try refusals(answers) == [[], [], ["blocked"]])
        let ids: JSON = .array([1, 2].map { .string(RowKey.list($0).id) })
        let got = try await send(
            ["a1", "a2"].map { Self.call("List/get", $0, ["ids": ids]) }, to: service
        ).answers
        #expect(got.map { $0.arguments["list"]?.array?.count } == [1, 1])
        #expect(got.map { $0.arguments["accountId"] } == ["a1", "a2"])
    }

    @Test func `G4 the app's hook gets a group account by account, and a refusal of one part refuses the group`()
        async throws
    {
        let asked = Mutex<[String]>([])
        let hook = GroupHook(deadline: .seconds(600)) { group in
            asked.withLock { $0.append("\(group.account) \(group.rows.map(\.key.type))") }
            if group.account == "a2" { throw RowFault("no", "not here") }
            return []
        }
        let service = try await service(.durable, hook: hook)
        let answers = try await send(
            [Self.list(1, "a1"), Self.todo(2, "a2"), Self.todo(3, "a3"), Self.list(4, "a1")], to: service, push: 1,
            groups: [[.list(1), .todo(2), .todo(3)]]
        ).answers
        #expect(try refusals(answers) == [["forbidden"], ["forbidden"], ["forbidden"], []])
        #expect(asked.withLock(\.self) == ["a1 [\"List\"]", "a2 [\"Todo\"]", "a1 [\"List\"]"])
    }

    // MARK: - Push numbers

    @Test(arguments: Kind.allCases)
    func `L3 a push number is noted for each account that the push names, and for no other`(kind: Kind) async throws {
        let service = try await service(kind)
        _ = try await send([Self.list(1, "a1"), Self.list(2, "a2")], to: service, push: 5)
        for account in ["a1", "a2"] {
            let problem = await #expect(throws: RequestProblem.self) {
                try await send([Self.list(3, "a3"), Self.list(4, account)], to: service, push: 4)
            }
            #expect(problem?.type.hasSuffix("pushRewound") == true)
        }
        let third = try await send([Self.list(3, "a3")], to: service, push: 4)
        #expect(try refusals(third.answers) == [[]])
        #expect(third.outcome.changes.first?.state.seq == 1)
    }

    // MARK: - Limits and readers

    @Test(arguments: Kind.allCases)
    func `a request that writes may name eight accounts, and a reading request as many as it has calls`(
        kind: Kind
    ) async throws {
        let service = try await service(kind)
        func lists(_ count: Int) -> [Invocation] { (1...count).map { Self.list($0, Self.accounts[$0 - 1]) } }
        for push in [1, nil] as [Int64?] {
            let problem = await #expect(throws: RequestProblem.self) {
                try await send(lists(9), to: service, push: push)
            }
            #expect(problem?.limit == "maxAccountsInSet" && problem?.status == 413)
        }
        let stored = try await send(
            lists(8), to: service, push: 1, groups: [(1...8).map { RowKey.list($0) }])
        #expect(stored.outcome.changes.map(\.account) == Array(Self.accounts.prefix(8)))
        let asked = Self.accounts.map { Self.call("List/changes", $0, ["sinceState": "e1.0", "inline": true]) }
        let pages = try await send(asked, to: service).answers.map { InlineChanges(json: $0.arguments) }
        #expect(pages.map { $0?.list.count } == Array(repeating: 1, count: 8) + [0])
    }

    @Test(arguments: Kind.allCases)
    func `an account that the reader may not open is an error of its calls, and the others are carried out`(
        kind: Kind
    ) async throws {
        let service = try await service(kind)
        for (number, foreign) in ["a2", "nobody", "a1\0", ""].enumerated() {
            let (outcome, answers) = try await send(
                [
                    Self.todo(number, "a1"), Self.todo(7, foreign),
                    Self.call("Todo/changes", foreign, ["sinceState": "e1.0", "inline": true]),
                    Self.call("Todo/changes", "a1", ["sinceState": "e1.0", "inline": true]),
                ], to: service, push: Int64(number + 1), as: .person("a1"))
            #expect(answers.map(\.name) == ["Todo/set", "error", "error", "Todo/changes"])
            #expect(answers[1].arguments["type"] == "accountNotFound")
            #expect(answers[1].arguments == answers[2].arguments)
            #expect(outcome.changes.map(\.account) == ["a1"])
            let only = try await send([Self.todo(7, foreign)], to: service, push: 9, as: .person("a1"))
            #expect(only.answers[0].arguments == answers[1].arguments && only.outcome.changes.isEmpty)
        }
        await #expect(throws: StoreError.self) {
            try await send([Self.todo(1, "nobody")], to: service, as: .person("nobody"))
        }
    }

    // MARK: - Pages

    @Test(arguments: Kind.allCases)
    func `R1 each page ends at its account's state if a request asks for several accounts`(
        kind: Kind
    ) async throws {
        let service = try await service(kind)
        _ = try await send([Self.list(1, "a1")], to: service, push: 1)
        _ = try await send([Self.todo(1, "a1", in: 1), Self.todo(2, "a2")], to: service, push: 2)
        let names = [("List", "a1"), ("List", "a2"), ("Todo", "a1"), ("Todo", "a2")]
        let asked = names.map { type, account in
            Self.call("\(type)/changes", account, ["sinceState": "e1.0", "inline": true])
        }
        let answers = try await send(asked, to: service).answers
        #expect(answers.map { $0.arguments["newState"]?.string?.prefix(4) } == ["e1.2", "e1.1", "e1.2", "e1.1"])
        #expect(answers.map { $0.arguments["list"]?.array?.count } == [1, 0, 1, 1])
        #expect(answers.map(\.callID) == ["a1", "a2", "a1", "a2"])
    }
}
