// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Pushes with a valid ticket whose member row or other rows are refused.
extension InvitationTests {
    /// The ways to ask about rows of a space, as Bob.
    private func probes(_ server: ServedSpace, in account: String, _ space: String) -> [Invocation] {
        let (known, unknown) = (RowKey.list(1).id, RowKey.list(7).id)
        func todo(_ number: Int, below list: String) -> JSONObject {
            ["create": [RowKey.id(0x700 + number): ["listId": .string(list), "content": "x"]]]
        }
        let moving: JSONObject = [
            "fromAccountId": .string(account), "accountId": "bob", "onSuccessDestroyOriginal": true,
            "create": [known: ["id": .string(known), "space": .null]],
        ]
        return [
            server.call("List/set", ["update": [known: ["name": "x"]]], in: account),
            server.call("List/set", ["update": [unknown: ["name": "x"]]], in: account),
            server.call("List/set", ["destroy": [.string(known)]], in: account),
            server.call("List/set", ["destroy": [.string(unknown)]], in: account),
            server.call("List/set", ["create": [known: ServedSpace.list(space)]], in: account),
            server.call("List/set", ServedSpace.lists(8, space), in: account),
            server.call("Todo/set", todo(1, below: known), in: account),
            server.call("Todo/set", todo(2, below: unknown), in: account),
            server.call("List/get", ["ids": .null], in: account),
            Invocation("List/copy", moving, callID: "0"),
        ]
    }

    @Test(arguments: Kind.allCases)
    func `P7 a valid ticket in a refused member row gets the answers of a missing space`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.set("List", ServedSpace.lists(1), as: "ann")
        let other = RowKey.id(0xDEF)
        let none = try #require(SpaceAccount.id(ofSpace: other))
        func answers(_ secret: UInt8, _ account: String, _ space: String, push: Int64?) async throws -> [String] {
            let member: JSONObject = [
                "space": .string(space), "name": 7, "ticket": .string(ServedSpace.secret(secret).text),
            ]
            let joining = server.call(
                "\(server.types.member)/set", ["create": [ServedSpace.bobRow: .object(member)]], in: account)
            var answers: [String] = []
            for probe in probes(server, in: account, space) {
                answers += try await server.send([joining, probe], as: "bob", push: push).dropFirst().map {
                    JSON.object($0.arguments).description.replacing(account, with: "A").replacing(space, with: "S")
                }
            }
            return answers
        }
        for push in [nil, Int64(1)] {
            let found = try await answers(1, ServedSpace.account, ServedSpace.space, push: push)
            #expect(found == (try await answers(9, none, other, push: push)))
            #expect(found.count == 10)
        }
        // Rows of the own account in the same push, and the clock, do not depend on the space's rows either.
        let (known, own) = (RowKey.list(1), RowKey.list(20))
        func beside(_ secret: UInt8, _ account: String, _ space: String, push: Int64) async throws -> [String] {
            let member: JSONObject = [
                "space": .string(space), "name": 7, "ticket": .string(ServedSpace.secret(secret).text),
            ]
            let below: JSONObject = ["create": [RowKey.id(0x777): ["listId": .string(own.id), "content": "x"]]]
            let calls = [
                server.call(
                    "\(server.types.member)/set", ["create": [ServedSpace.bobRow: .object(member)]], in: account),
                server.call("List/set", ["update": [known.id: ["name": "x"]]], in: account),
                server.call("Todo/set", below, in: "bob"),
            ]
            return try await server.send(
                calls, as: "bob", push: push, groups: [[known, RowKey("Todo", RowKey.id(0x777))]]
            ).map { JSON.object($0.arguments).description.replacing(account, with: "A").replacing(space, with: "S") }
        }
        let found = try await beside(1, ServedSpace.account, ServedSpace.space, push: 2)
        let missing = try await beside(9, none, other, push: 3)
        #expect(found.dropFirst() == missing.dropFirst())
        #expect(try await server.memberships() == ["ann": .owner])
        #expect(try await server.rows("List") == 1)
        #expect(try await server.rows("List", in: "bob") == 0)
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 0)
    }

    @Test(arguments: Kind.allCases)
    func `P7 refused rows in the group of a member row do not keep the person from joining`(kind: Kind) async throws {
        let server = try await server(kind)
        let list = RowKey.list(7)
        let calls = [
            server.joining(), server.call("List/set", ["update": [list.id: ["name": "x"]]]),
            server.call("List/set", ServedSpace.lists(8)),
        ]
        let group = [RowKey(server.types.member, ServedSpace.bobRow), list, RowKey.list(8)]
        let answers = try await server.send(calls, as: "bob", push: 1, groups: [group])
        #expect(try server.refusals(answers[0]) == [:])
        #expect(try server.refusals(answers[1]) == [list.id: "notFound"])
        #expect(try server.refusals(answers[2]) == [RowKey.list(8).id: "groupFailed"])
        #expect(try await server.memberships() == ["ann": .owner, "bob": .writer])
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 1)
    }
}
