// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Spaces as clients see them: founding, roles, and the end of a membership.
@Suite(.timeLimit(.minutes(20)))
struct SpacesTests {
    typealias Kind = StoresTests.Kind

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    private func server(_ kind: Kind, types: SpaceTypes = SpaceTypes()) async throws -> ServedSpace {
        try await ServedSpace(kind, at: place, types: types)
    }

    // MARK: - Founding

    @Test(arguments: Kind.allCases)
    func `P10 the first member row founds a space, in the push that fills it`(kind: Kind) async throws {
        let server = try await server(kind)
        let answers = try await server.send(
            [
                server.call("List/set", ServedSpace.lists(1)),
                server.call("\(server.types.member)/set", ["create": [ServedSpace.annRow: server.member("owner")]]),
                server.call(
                    "\(server.types.space)/set",
                    ["create": [ServedSpace.space: ["name": "Home"]]],
                    in: "ann"),
            ], as: "ann", push: 1)
        #expect(try answers.map { try server.refusals($0) } == [[:], [:], [:]])
        #expect(try await server.memberships() == ["ann": .owner])
        #expect(try await server.rows("List") == 1)
        #expect(try await server.rows(server.types.space, in: "ann") == 1)
    }

    @Test(arguments: Kind.allCases)
    func `rows wait for the member row that founds their space`(kind: Kind) async throws {
        let server = try await server(kind)
        #expect(try await server.set("List", ServedSpace.lists(1), as: "ann") == ["": "accountNotFound"])
        let member = server.call("\(server.types.member)/set", ["create": [ServedSpace.annRow: ["role": "owner"]]])
        let answers = try await server.send(
            [server.call("List/set", ServedSpace.lists(1)), member], as: "ann", push: 1)
        #expect(
            try answers.map { try server.refusals($0) } == [
                [RowKey.list(1).id: "blocked"], [ServedSpace.annRow: "crossesSpaces"],
            ])
        #expect(try await server.store.accounts(after: nil, limit: 9) == ServedSpace.people)
        #expect(try await server.found() == [:])
        #expect(try await server.set("List", ServedSpace.lists(1), as: "ann") == [:])
    }

    @Test(arguments: Kind.allCases)
    func `P10 a founder must be an owner`(kind: Kind) async throws {
        let server = try await server(kind)
        for role in ["writer", "admin"] {
            let create: JSONObject = ["create": [ServedSpace.annRow: server.member(role)]]
            #expect(try await server.set(server.types.member, create, as: "ann") == [ServedSpace.annRow: "lastOwner"])
        }
        #expect(try await server.store.accounts(after: nil, limit: 9) == ServedSpace.people)
    }

    @Test(arguments: Kind.allCases)
    func `a second member row of a person is merged into the first, and changes no role`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        try await server.admit("bob", .writer)
        let second = RowKey.id(0xB2)
        for _ in 0..<2 {
            let create: JSONObject = ["create": [second: server.member("owner", name: "Bob")]]
            let answers = try await server.send(
                [server.call("\(server.types.member)/set", create)], as: "bob", push: 1)
            #expect(try server.refusals(answers[0]) == [:])
            #expect(try await server.memberships() == ["ann": .owner, "bob": .writer])
            #expect(try await server.rows(server.types.member) == 2)
        }
        let row = try await server.store.read(account: ServedSpace.account, as: .operator) {
            try $0.rows(type: server.types.member, ids: [second, ServedSpace.bobRow])
        }
        #expect(row[second]?.memory.mergedInto == ServedSpace.bobRow)
        #expect(row[ServedSpace.bobRow]?.row.cells["name"]?.value == "Bob")
        #expect(row[ServedSpace.bobRow]?.row.cells["role"]?.value == "writer")
        // Neither row is a way to another role.
        for id in [second, ServedSpace.bobRow] {
            let update: JSONObject = ["update": [id: ["role": "owner"]]]
            #expect(try await server.set(server.types.member, update, as: "bob") == [id: "roleForbids"])
            let create: JSONObject = ["create": [id: server.member("owner")]]
            _ = try await server.send([server.call("\(server.types.member)/set", create)], as: "bob", push: 2)
        }
        #expect(try await server.memberships() == ["ann": .owner, "bob": .writer])
    }

    @Test func `the engine's types are ordinary layouts under other names`() async throws {
        let types = SpaceTypes(space: "place", member: "crew", invitation: "ticket")
        let server = try await server(.inMemory, types: types)
        #expect(server.service.schema.types.keys.sorted() == ["List", "Memo", "Todo", "crew", "place", "ticket"])
        #expect(try await server.found() == [:])
        #expect(try await server.memberships() == ["ann": .owner])
        #expect(throws: Never.self) { try server.service.schema.check() }
    }

    @Test func `a schema without spaces stays as the app wrote it`() {
        let settings = ServingSettings(schema: .projects, makeRowID: { "" })
        #expect(settings.schema == .projects)
    }

    // MARK: - Roles

    @Test(arguments: Kind.allCases, [Role.owner, .writer, .reader])
    func `P6 the server decides by the role who may write a row`(kind: Kind, role: Role) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        #expect(try await server.set("List", ServedSpace.lists(1), as: "ann") == [:])
        try await server.admit("bob", role)
        let (member, list, new) = (server.types.member, RowKey.list(1).id, RowKey.list(2).id)
        func allowed(_ roles: Set<Role>, _ id: String) -> [String: String] {
            roles.contains(role) ? [:] : [id: "roleForbids"]
        }
        let writers: Set<Role> = [.owner, .writer]
        #expect(try await server.set("List", ServedSpace.lists(2), as: "bob") == allowed(writers, new))
        let rename: JSONObject = ["update": [list: ["name": "n"]]]
        #expect(try await server.set("List", rename, as: "bob") == allowed(writers, list))
        #expect(try await server.set("List", ["destroy": [.string(list)]], as: "bob") == allowed(writers, list))
        let invitation: JSONObject = ["create": [new: server.invitation(ServedSpace.secret(1), role: "reader")]]
        #expect(try await server.set(server.types.invitation, invitation, as: "bob") == allowed([.owner], new))
        for column in ["name", "role"] {
            let update: JSONObject = ["update": [ServedSpace.annRow: [column: "reader"]]]
            let result = try await server.set(member, update, as: "bob")
            #expect(result == allowed([.owner], ServedSpace.annRow))
        }
        #expect(try await server.set(member, ["update": [ServedSpace.bobRow: ["name": "B"]]], as: "bob") == [:])
        let own = try await server.set(member, ["update": [ServedSpace.bobRow: ["role": "writer"]]], as: "bob")
        #expect(own == (role == .owner ? [ServedSpace.bobRow: "lastOwner"] : [ServedSpace.bobRow: "roleForbids"]))
    }

    @Test(arguments: Kind.allCases, [Role.writer, .reader])
    func `P7 a person who leaves and joins again in one push keeps the role`(kind: Kind, role: Role) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        try await server.admit("bob", role)
        let second = RowKey.id(0xB2)
        let change: JSONObject = [
            "destroy": [.string(ServedSpace.bobRow)], "create": [second: server.member("owner", name: "Bob")],
        ]
        let answers = try await server.send(
            [server.call("\(server.types.member)/set", change)], as: "bob", push: 1)
        #expect(try server.refusals(answers[0]) == [:])
        #expect(try await server.memberships() == ["ann": .owner, "bob": role])
        let row = try await server.store.read(account: ServedSpace.account, as: .operator) {
            try $0.rows(type: server.types.member, ids: [second])
        }
        #expect(row[second]?.row.cells["role"]?.value == .string(role.rawValue))
    }

    @Test(arguments: Kind.allCases)
    func `P6 a row that the role forbids is refused with the server's row, and its group once`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        _ = try await server.set("List", ServedSpace.lists(1), as: "ann")
        try await server.admit("bob", .reader)
        let list = RowKey.list(1).id
        let update = server.call(
            "List/set", ["update": [list: ["name": "x"]], "create": [RowKey.list(2).id: ["name": "y"]]])
        let request = Request(
            methodCalls: [update, server.call("Memo/set", ["create": [RowKey.id(7): ["text": "z"]]], in: "bob")],
            device: "deviceBB", push: 1,
            groups: [[RowKey.list(1).description, RowKey("Memo", RowKey.id(7)).description]])
        let outcome = try await server.service.answer(request.json.bytes, as: .person("bob"))
        let answers = try #require(Response(json: JSON(parsing: outcome.response))).methodResponses
        let refused = try #require(SetAnswer(json: answers[0].arguments))
        let error = try #require(refused.notUpdated.first?.error)
        #expect(error.type == "roleForbids")
        #expect(answers[0].arguments["notUpdated"]?[list]?["current"]?["name"] == "l")
        #expect(try server.refusals(answers[1]) == [RowKey.id(7): "groupFailed"])
        #expect(try await server.rows("Memo", in: "bob") == 0)
    }

    @Test(arguments: Kind.allCases)
    func `a row is in the account that its space column names`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        let (one, two) = (RowKey.list(1).id, RowKey.list(2).id)
        for space in [nil, RowKey.id(0xDEF)] {
            #expect(try await server.set("List", ServedSpace.lists(1, space), as: "ann") == [one: "crossesSpaces"])
        }
        let memo = try await server.set("Memo", ["create": [one: ["text": "m"]]], as: "ann")
        #expect(memo == [one: "crossesSpaces"])
        #expect(try await server.set("List", ServedSpace.lists(1), as: "ann", in: "ann") == [one: "crossesSpaces"])
        #expect(try await server.set("List", ServedSpace.lists(2, nil), as: "ann", in: "ann") == [:])
        let move: JSONObject = ["update": [two: ["space": .string(ServedSpace.space)]]]
        #expect(try await server.set("List", move, as: "ann", in: "ann") == [two: "crossesSpaces"])
        let member: JSONObject = ["create": [ServedSpace.bobRow: ["name": "n", "role": "owner"]]]
        let refused = try await server.set(server.types.member, member, as: "ann", in: "ann")
        #expect(refused == [ServedSpace.bobRow: "crossesSpaces"])
    }

    @Test(arguments: Kind.allCases)
    func `P2 a row of another account that refers to the same id does not keep a row from moving`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        let list = RowKey.list(1).id
        for person in ["ann", "eve"] {
            #expect(try await server.set("List", ServedSpace.lists(1, nil), as: person, in: person) == [:])
        }
        let todo: JSONObject = ["create": [RowKey.todo(1).id: ["content": "t", "listId": .string(list)]]]
        #expect(try await server.set("Todo", todo, as: "eve", in: "eve") == [:])
        let row: JSON = [
            "id": .string(list), "space": .string(ServedSpace.space), "@hlc": .string(WriteClock.at(5).description),
        ]
        let move: JSONObject = [
            "fromAccountId": "ann", "onSuccessDestroyOriginal": true, "create": [list: row],
        ]
        let moved = try await server.send([server.call("List/copy", move)], as: "ann", push: 1)
        let answer = try #require(CopyAnswer(json: moved[0].arguments))
        #expect(answer.created.map(\.id) == [list] && answer.notCreated.isEmpty)
        #expect(try await server.rows("List", in: "eve") == 1)
    }

    // MARK: - Owners and the end

    @Test(arguments: Kind.allCases)
    func `P10 the last owner cannot leave or give up the role while others are members`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        try await server.admit("bob", .writer)
        let member = server.types.member
        let leave: JSONObject = ["destroy": [.string(ServedSpace.annRow)]]
        #expect(try await server.set(member, leave, as: "ann") == [ServedSpace.annRow: "lastOwner"])
        let lower: JSONObject = ["update": [ServedSpace.annRow: ["role": "reader"]]]
        #expect(try await server.set(member, lower, as: "ann") == [ServedSpace.annRow: "lastOwner"])
        // Judged after the whole push: the order of the two roles does not matter.
        let transfer: JSONObject = [
            "update": [ServedSpace.annRow: ["role": "reader"], ServedSpace.bobRow: ["role": "owner"]]
        ]
        #expect(try await server.set(member, transfer, as: "ann") == [:])
        #expect(try await server.memberships() == ["ann": .reader, "bob": .owner])
        #expect(try await server.set(member, leave, as: "ann") == [:])
        #expect(try await server.memberships() == ["bob": .owner])
    }

    @Test(arguments: Kind.allCases)
    func `P8 after a removal every call of the person is answered with its reason and transaction`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        try await server.admit("bob", .owner)
        let member = server.types.member
        _ = try await server.set("List", ServedSpace.lists(1), as: "bob")
        #expect(try await server.set(member, ["destroy": [.string(ServedSpace.bobRow)]], as: "ann") == [:])
        let calls = [
            server.call("List/get", ["ids": .null]), server.call("List/changes", ["sinceState": "e1.0"]),
            server.call("List/set", ServedSpace.lists(2)),
            server.call("\(member)/set", ["create": [RowKey.id(0xB2): server.member("owner")]]),
        ]
        for push in [nil, Int64(1)] {
            for answer in try await server.send(calls, as: "bob", push: push) {
                #expect(answer.name == "error" && answer.arguments["type"] == "accessEnded")
                #expect(answer.arguments["reason"] == "removed" && answer.arguments["at"] == 4)
            }
        }
        #expect(try await server.rows("List") == 1)
    }

    @Test(arguments: Kind.allCases)
    func `P10 a space without members has ended, and is not founded again`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        try await server.admit("bob", .writer)
        let member = server.types.member
        _ = try await server.set(member, ["destroy": [.string(ServedSpace.bobRow)]], as: "bob")
        let left = try await server.send([server.call("List/get", ["ids": .null])], as: "bob")
        #expect(left[0].arguments["reason"] == "left")
        #expect(try await server.set(member, ["destroy": [.string(ServedSpace.annRow)]], as: "ann") == [:])
        let ended = try await server.send([server.call("List/get", ["ids": .null])], as: "ann")
        #expect(ended[0].arguments["reason"] == "deleted")
        #expect(try await server.found(by: "ann", RowKey.id(0xA2)) == ["": "accessEnded"])
        #expect(try await server.found(by: "eve", RowKey.id(0xE)) == ["": "accountNotFound"])
        #expect(try await server.memberships().isEmpty)
    }

    // MARK: - Strangers

    @Test(arguments: Kind.allCases)
    func `P7 a stranger gets the same answers for a space as for a missing account`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        _ = try await server.set("List", ServedSpace.lists(1), as: "ann")
        let none = try #require(SpaceAccount.id(ofSpace: RowKey.id(0xDEF)))
        func answers(_ account: String, push: Int64?) async throws -> [Invocation] {
            let calls = [
                server.call("List/get", ["ids": .null], in: account),
                server.call("List/changes", ["sinceState": "e1.0"], in: account),
                server.call("List/set", ServedSpace.lists(2), in: account),
                server.call(
                    "\(server.types.member)/set", ["update": [ServedSpace.annRow: ["role": "reader"]]], in: account),
            ]
            return try await server.send(calls, as: "eve", push: push)
        }
        for push in [nil, Int64(1)] {
            let found = try await answers(ServedSpace.account, push: push)
            #expect(found == (try await answers(none, push: push)))
            #expect(found.allSatisfy { $0.arguments["type"] == "accountNotFound" })
        }
        #expect(try await server.found(by: "eve", RowKey.id(0xE)) == ["": "accountNotFound"])
        #expect(try await server.memberships() == ["ann": .owner])
    }

    // MARK: - Push numbers

    @Test(arguments: Kind.allCases)
    func `attack: a member cannot block another person's device with its id and a huge push number`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await server.found()
        try await server.admit("bob", .writer)
        let rows = (1...3).map { number in
            server.call("List/set", ["create": [RowKey.list(number).id: ServedSpace.list(ServedSpace.space)]])
        }
        _ = try await server.send([rows[0]], as: "ann", push: 1, device: "phone")
        _ = try await server.send([rows[1]], as: "bob", push: Int64.max, device: "phone")
        let answers = try await server.send([rows[2]], as: "ann", push: 2, device: "phone")
        #expect(try server.refusals(answers[0]) == [:])
        #expect(try await server.rows("List") == 3)
        await #expect(throws: RequestProblem.self) {
            try await server.send([rows[2]], as: "bob", push: 2, device: "phone")
        }
    }
}
