// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Rows that move between a person's own account and spaces, as clients see them.
@Suite(.timeLimit(.minutes(20)))
struct MovesTests {
    typealias Kind = StoresTests.Kind

    private static let people = ["ann", "bob", "eve"]
    private static let spaces = [RowKey.id(0xABC), RowKey.id(0xDEF)]
    private static let home = SpaceAccount.id(ofSpace: spaces[0]) ?? ""
    private static let club = SpaceAccount.id(ofSpace: spaces[1]) ?? ""
    private static let bobRow = RowKey.id(0xB)
    private static let (list, todo) = (RowKey.list(1).id, RowKey.todo(1).id)

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    // MARK: - The server

    private struct Server {
        let store: any SyncStore
        let service: JMAPService

        @discardableResult
        func send(
            _ calls: [Invocation], as person: String = "ann", push: Int64? = nil, groups: [[RowKey]] = [],
            using: [String] = [RowSync.core, RowSync.capability]
        ) async throws -> [Invocation] {
            let request = Request(
                using: using, methodCalls: calls, device: push == nil ? nil : "device\(person)", push: push,
                groups: groups.map { $0.map(\.description) })
            let outcome = try await service.answer(request.json.bytes, as: .person(person))
            return try #require(Response(json: JSON(parsing: outcome.response))).methodResponses
        }

        func page(_ type: String, in account: String, as person: String = "ann") async throws -> InlineChanges {
            let arguments: JSONObject = ["accountId": .string(account), "sinceState": "e1.0", "inline": true]
            let answers = try await send([Invocation("\(type)/changes", arguments, callID: "0")], as: person)
            return try #require(InlineChanges(json: answers[0].arguments))
        }

        /// Makes Bob a reader of Ann's space.
        func admitBob() async throws {
            let key = RowKey(SpaceTypes().member, MovesTests.bobRow)
            try await store.write(account: MovesTests.home, as: .operator) { account in
                let space = Cell(.string(MovesTests.spaces[0]), .at(-1))
                var change = RowChange(
                    key: key, row: MergeRow(generation: 1, cells: ["space": space, "role": Cell("reader", .at(-1))]),
                    memory: RowMemory(person: "bob"), bornSeq: nil, droppedEntries: [], addedEntries: [])
                change.membership = MembershipChange(person: "bob", memberID: key.id, role: .reader, end: nil)
                _ = try account.append([change], day: 1)
            }
        }

        func seqs() async throws -> [Int64] {
            try await store.read(accounts: ["ann", MovesTests.home], as: .operator) { accounts in
                accounts.open.sorted { $0.key < $1.key }.map(\.value.seq)
            }
        }
    }

    private static func call(_ name: String, _ arguments: JSONObject, in account: String = "ann") -> Invocation {
        var arguments = arguments
        arguments["accountId"] = .string(account)
        return Invocation(name, arguments, callID: name)
    }

    private static func copy(
        _ type: String, _ rows: JSONObject, from source: String = "ann", to account: String = MovesTests.home
    ) -> Invocation {
        let arguments: JSONObject = [
            "fromAccountId": .string(source), "onSuccessDestroyOriginal": true, "create": .object(rows),
        ]
        return call("\(type)/copy", arguments, in: account)
    }

    private static func moved(_ members: JSONObject = ["space": .string(MovesTests.spaces[0])]) -> JSONObject {
        var row: JSONObject = ["id": .string(list), "@hlc": .string(WriteClock.at(5).description)]
        for (key, value) in members { row.append(key, value) }
        return [list: .object(row)]
    }

    private static let followed: JSONObject = [
        todo: ["id": .string(todo), "@hlc": .string(WriteClock.at(5).description)]
    ]

    private static func founding(_ number: Int, _ account: String) -> Invocation {
        let member: JSON = ["space": .string(spaces[number]), "name": "Ann", "role": "owner"]
        return call("\(SpaceTypes().member)/set", ["create": [RowKey.id(0xA0 + number): member]], in: account)
    }

    /// A server where Ann has two spaces, and a list with a to-do in her own account.
    private func server(_ kind: Kind, hook: GroupHook? = nil) async throws -> Server {
        let schema = ServedSpace.schema
        let store: any SyncStore =
            switch kind {
            case .durable: try await place.open(epoch: "e1", schema: schema, accounts: Self.people)
            case .inMemory: InMemorySyncStore(accounts: Self.people, epoch: "e1")
            }
        let settings = ServingSettings(
            schema: schema, makeRowID: { UUID().uuidString.lowercased() }, workBudget: .unlimited, hook: hook)
        let server = Server(
            store: store,
            service: JMAPService(store: store, settings: settings, now: { Date(timeIntervalSince1970: 1_800_000_000) }))
        let (list, todo): (JSON, JSON) = (["name": "l"], ["content": "t", "listId": .string(Self.list)])
        try await server.send(
            [
                Self.founding(0, Self.home), Self.founding(1, Self.club),
                Self.call("List/set", ["create": [Self.list: list]]),
                Self.call("Todo/set", ["create": [Self.todo: todo]]),
            ], push: 1)
        return server
    }

    private func moveAll(_ server: Server) async throws -> [Invocation] {
        try await server.send(
            [Self.copy("List", Self.moved()), Self.copy("Todo", Self.followed)], push: 2,
            groups: [[.list(1), .todo(1)]])
    }

    // MARK: - Answers and pages

    @Test(arguments: Kind.allCases)
    func `P4 a move is answered with the row's next life and with its end, as RFC 8620 says`(kind: Kind) async throws {
        let server = try await server(kind)
        let answers = try await moveAll(server)
        #expect(answers.map(\.name) == ["List/copy", "List/set", "Todo/copy", "Todo/set"])
        #expect(answers.map(\.callID) == ["List/copy", "List/copy", "Todo/copy", "Todo/copy"])
        let arrived = try #require(CopyAnswer(json: answers[0].arguments))
        #expect(arrived.fromAccountID == "ann" && arrived.oldState == "e1.1" && arrived.newState == "e1.2")
        let row = try #require(arrived.created.first?.row)
        #expect(row.generation == 3 && row.seq == 2 && row.firstLife == 1 && row.values.isEmpty)
        let left = try #require(SetAnswer(json: answers[1].arguments))
        #expect(answers[1].arguments["accountId"] == "ann" && left.destroyed == [Self.list])
        let end = try #require(left.tombstones[Self.list])
        #expect(end.generation == 2 && end.seq == 2 && end.firstLife == 1)
        #expect(end.movedTo == RowDestination(account: Self.home, generation: 3, clock: .at(5)))
    }

    @Test(arguments: Kind.allCases)
    func `P4 pages, snapshots and single rows have a moved row's first life, and tombstones its destination`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await moveAll(server)
        for type in ["List", "Todo"] {
            let page = try await server.page(type, in: Self.home)
            #expect(page.list.map(\.patch.firstLife) == [1] && page.list.map(\.patch.generation) == [3])
            let former = try await server.page(type, in: "ann")
            #expect(former.list.isEmpty && former.destroyed.map(\.tombstone.movedTo?.account) == [Self.home])
            #expect(former.destroyed.map(\.tombstone.firstLife) == [1])
        }
        let asked: [(String, JSONObject)] = [
            ("List/changes", ["inline": true, "snapshot": [:]]), ("List/get", ["ids": .null]),
            ("List/get", ["ids": .null, "properties": ["@first"]]),
        ]
        for (name, arguments) in asked {
            let answers = try await server.send([Self.call(name, arguments, in: Self.home)])
            #expect(answers[0].arguments["list"]?.array?.first?["@first"] == 1)
        }
    }

    @Test(arguments: Kind.allCases)
    func `P4 an edit, a delete and a move of a row that has left are answered with its place`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await moveAll(server)
        let clocks: JSON = [Self.list: ["@gen": 2, "@hlc": .string(WriteClock.at(9).description)]]
        let name: JSON = ["name": "x", "@hlc": .string(WriteClock.at(9).description)]
        let late = [
            Self.call("List/set", ["update": [Self.list: name]]),
            Self.call("List/set", ["create": [Self.list: name]]),
            Self.call("List/set", ["destroy": [.string(Self.list)], "destroyClocks": clocks]),
            Self.copy("List", Self.moved(["space": .string(Self.spaces[1])]), to: Self.club),
        ]
        let members = ["notUpdated", "notCreated", "notDestroyed", "notCreated"]
        for (number, call) in late.enumerated() {
            let answer = try await server.send([call], push: Int64(3 + number))[0]
            let error = answer.arguments[members[number]]?[Self.list]
            let end = try #require(error?["deletion"].flatMap { Tombstone(json: $0) })
            #expect(error?["type"] == "notFound" && end.seq == 2)
            #expect(end.movedTo?.account == Self.home && end.movedTo?.generation == 3)
        }
        #expect(try await server.seqs() == [2, 2])
        let inHome = Self.call("List/set", ["update": [Self.list: name]], in: Self.home)
        let merged = try await server.send([inHome], push: 9)[0].arguments["updated"]?[Self.list]
        #expect(merged?["@first"] == 1 && merged?["@gen"] == 3 && merged?["name"] == "x")
    }

    @Test(arguments: Kind.allCases)
    func `L4 the end of a moved row expires like a deletion`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await moveAll(server)
        let later = Date(timeIntervalSince1970: 1_800_000_000 + 100 * 86_400)
        try await TombstoneSweep(store: server.store, tombstoneDays: 90).run(now: later)
        let rows = try await server.store.read(accounts: ["ann", Self.home], as: .operator) { accounts in
            try accounts.open.mapValues { try $0.rows(type: "List", ids: [Self.list]).values.map(\.memory.firstLife) }
        }
        #expect(rows == ["ann": [], Self.home: [1]])
        let since = Self.call("List/changes", ["sinceState": "e1.1", "inline": true])
        #expect(try await server.send([since])[0].arguments["type"] == "cannotCalculateChanges")
    }

    // MARK: - One transaction

    @Test(arguments: Kind.allCases)
    func `P5 a move over two accounts is stored completely or not at all`(kind: Kind) async throws {
        let server = try await server(kind)
        let bad = Self.call("Todo/set", ["create": [RowKey.todo(2).id: ["content": 7]]], in: Self.club)
        let answers = try await server.send(
            [Self.copy("List", Self.moved()), Self.copy("Todo", Self.followed), bad], push: 2,
            groups: [[.list(1), .todo(1), .todo(2)]])
        #expect(answers.map(\.name) == ["List/copy", "Todo/copy", "Todo/set"])
        let error = answers[0].arguments["notCreated"]?[Self.list]
        #expect(error?["type"] == "groupFailed" && error?["by"] == [.string(RowKey.todo(2).description)])
        #expect(try await server.seqs() == [1, 1])
        #expect(try await server.page("List", in: "ann").list.count == 1)
        #expect(try await server.page("List", in: Self.home).list.isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func `a space is founded by the push that moves rows into it`(kind: Kind) async throws {
        let server = try await server(kind)
        let space = RowKey.id(0x123)
        let account = try #require(SpaceAccount.id(ofSpace: space))
        let move = Self.copy("List", Self.moved(["space": .string(space)]), to: account)
        let follow = Self.copy("Todo", Self.followed, to: account)
        #expect(try await server.send([move, follow], push: 2)[0].arguments["type"] == "accountNotFound")
        let member: JSON = ["space": .string(space), "name": "Ann", "role": "owner"]
        let found = Self.call("\(SpaceTypes().member)/set", ["create": [RowKey.id(0xA9): member]], in: account)
        let answers = try await server.send([move, follow, found], push: 3)
        #expect(CopyAnswer(json: answers[0].arguments)?.created.count == 1)
        #expect(try await server.page("List", in: account).list.map(\.id) == [Self.list])
    }

    @Test(arguments: Kind.allCases)
    func `L3 the number of a push counts in the account that a row leaves`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.send([Self.call("List/set", ["update": [Self.list: ["name": "x"]]])], push: 8)
        await #expect(throws: RequestProblem.self) {
            try await server.send([Self.copy("List", Self.moved())], push: 7)
        }
    }

    @Test func `G4 the app's hook sees a row deleted in one account and new in the other, and may refuse the move`()
        async throws
    {
        let asked = Mutex<[String]>([])
        let hook = GroupHook(deadline: .seconds(600)) { group in
            for row in group.rows where row.key == .list(1) {
                let (before, after) = (row.before?["name"]?.string ?? "none", row.after?["name"]?.string ?? "none")
                asked.withLock { $0.append("\(group.account == MovesTests.home ? "home" : "ann") \(before) \(after)") }
                if group.account == "ann", row.after == nil { throw RowFault("no", "It stays.") }
            }
            return []
        }
        let server = try await server(.durable, hook: hook)
        let error = try await moveAll(server)[0].arguments["notCreated"]?[Self.list]
        #expect(error?["type"] == "forbidden" && error?["code"] == "no" && error?["current"]?["name"] == "l")
        #expect(asked.withLock(\.self).contains("ann l none"))
        #expect(try await server.seqs() == [1, 1])
    }

    // MARK: - Refusals and attacks

    @Test(arguments: Kind.allCases)
    func `a call that would leave the original, or copy within an account, is refused`(kind: Kind) async throws {
        let server = try await server(kind)
        var copy = Self.copy("List", Self.moved())
        copy.arguments["onSuccessDestroyOriginal"] = nil
        let within = Self.copy("List", Self.moved(), to: "ann")
        var incomplete = Self.copy("List", Self.moved())
        incomplete.arguments["fromAccountId"] = nil
        var former = Self.copy("List", Self.moved())
        former.arguments["ifFromInState"] = "e1.0"
        let expected = ["invalidArguments", "invalidArguments", "invalidArguments", "stateMismatch"]
        for (call, type) in zip([copy, within, incomplete, former], expected) {
            #expect(try await server.send([call], push: 2).map { $0.arguments["type"]?.string } == [type])
        }
        for id in ["", "x", Self.list.uppercased()] {
            let answer = try await server.send([Self.copy("List", ["k": ["id": .string(id)]])], push: 2)[0]
            #expect(CopyAnswer(json: answer.arguments)?.notCreated.map(\.error.type) == ["invalidProperties"])
        }
        #expect(try await server.seqs() == [1, 1])
    }

    @Test(arguments: Kind.allCases)
    func `P7 a stranger can neither move rows out of an account nor into it`(kind: Kind) async throws {
        let server = try await server(kind)
        let none = try #require(SpaceAccount.id(ofSpace: RowKey.id(0x999)))
        for push in [nil, Int64(1)] {
            var answers: [[JSONObject]] = []
            for account in [Self.home, none] {
                let calls = [
                    Self.copy("List", Self.moved(), from: account, to: "eve"),
                    Self.copy("List", Self.moved(), from: "eve", to: account),
                ]
                answers.append(try await server.send(calls, as: "eve", push: push).map(\.arguments))
            }
            #expect(answers[0] == answers[1])
            #expect(answers[0].allSatisfy { $0["type"] == "accountNotFound" })
        }
        let foreign = try await server.send([Self.copy("List", Self.moved(), from: "ann", to: "eve")], as: "eve")
        #expect(foreign[0].arguments["type"] == "accountNotFound")
        #expect(try await server.seqs() == [1, 1])
    }

    @Test(arguments: Kind.allCases)
    func `P6 P8 a reader and a former member move no row out of a space or into it`(kind: Kind) async throws {
        let server = try await server(kind)
        let own = RowKey.list(2).id
        _ = try await moveAll(server)
        try await server.admitBob()
        _ = try await server.send([Self.call("List/set", ["create": [own: ["name": "b"]]], in: "bob")], as: "bob")
        let calls = [
            Self.copy("List", Self.moved(["space": .null, "@gen": 3]), from: Self.home, to: "bob"),
            Self.copy("List", [own: ["id": .string(own), "space": .string(Self.spaces[0])]], from: "bob"),
        ]
        let refused = try await server.send(calls, as: "bob", push: 1).map {
            CopyAnswer(json: $0.arguments)?.notCreated
        }
        #expect(refused.map { $0?.first?.error.type } == ["roleForbids", "roleForbids"])
        let leave = Self.call("\(SpaceTypes().member)/set", ["destroy": [.string(Self.bobRow)]], in: Self.home)
        _ = try await server.send([leave])
        let ended = try await server.send(calls, as: "bob", push: 2)
        #expect(ended.map { $0.arguments["type"] } == ["accessEnded", "accessEnded"])
        #expect(try await server.page("List", in: Self.home).list.map(\.id) == [Self.list])
    }

    @Test(arguments: Kind.allCases)
    func `P2 a row with the id of another account's row is neither moved, joined nor shown`(kind: Kind) async throws {
        let server = try await server(kind)
        // Eve makes a row with the id of Ann's row in her own account.
        let row: JSON = ["name": "eve"]
        _ = try await server.send(
            [Self.call("List/set", ["create": [Self.list: row]], in: "eve")], as: "eve", push: 1)
        _ = try await moveAll(server)
        #expect(try await server.page("List", in: "eve", as: "eve").list.map(\.patch.values) == [["name": "eve"]])
        #expect(try await server.page("List", in: Self.home).list.first?.patch.values["name"] == "l")
        // In the destination such a row blocks the move, and does not change.
        let taken = try await server.send(
            [
                Self.call("List/set", ["create": [RowKey.list(2).id: row]]),
                Self.call(
                    "List/set",
                    ["create": [RowKey.list(2).id: ["name": "other", "space": .string(Self.spaces[0])]]],
                    in: Self.home),
                Self.copy(
                    "List", [RowKey.list(2).id: ["id": .string(RowKey.list(2).id), "space": .string(Self.spaces[0])]]),
            ])
        #expect(CopyAnswer(json: taken[2].arguments)?.notCreated.map(\.error.type) == ["idTaken"])
        let rows = try await server.page("List", in: Self.home).list
        #expect(rows.first { $0.id == RowKey.list(2).id }?.patch.values["name"] == "other")
    }

    @Test(arguments: Kind.allCases)
    func `P3 a reference to a row of another space gets the same answer as one to an unknown row`(kind: Kind)
        async throws
    {
        let server = try await server(kind)
        let other = RowKey.list(2).id
        _ = try await server.send([
            Self.call("List/set", ["create": [other: ["name": "c", "space": .string(Self.spaces[1])]]], in: Self.club)
        ])
        /// The answer without the list's id.
        func move(to list: String) async throws -> String {
            let row: JSON = ["id": .string(Self.todo), "listId": .string(list)]
            let answer = try await server.send([Self.copy("Todo", [Self.todo: row])])[0]
            let error = try #require(answer.arguments["notCreated"]?[Self.todo])
            #expect(error["type"] == "blocked")
            return error.description.replacing(list, with: "")
        }
        #expect(try await move(to: other) == move(to: RowKey.list(3).id))
    }

    @Test(arguments: Kind.allCases)
    func `a client without the capability moves rows by the RFC alone`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.send([Self.call("Todo/set", ["destroy": [.string(Self.todo)]])])
        let rows: JSONObject = ["k1": ["id": .string(Self.list), "space": .string(Self.spaces[0]), "@whole": true]]
        let answers = try await server.send([Self.copy("List", rows)], using: [RowSync.core])
        #expect(answers.map(\.name) == ["List/copy", "List/set"])
        #expect(answers[0].arguments["created"] == ["k1": ["id": .string(Self.list)]])
        #expect(answers[1].arguments["destroyed"] == [.string(Self.list)])
        #expect(answers[1].arguments["destroyClocks"] == nil)
        #expect(try await server.page("List", in: Self.home).list.map(\.id) == [Self.list])
    }
}
