// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// The audit of a space, and the memory of a deleted one.
@Suite(.timeLimit(.minutes(20)))
struct AuditTests {
    private let site = Site()
    private static let (space, account) = (ServedSpace.space, ServedSpace.account)
    private static let invitation = RowKey.id(0x101)

    private func set(
        _ type: String, _ arguments: JSONObject, by person: Person, at server: OptimistServer, push: Int64? = nil,
        in account: String = Self.account
    ) async throws {
        var arguments = arguments
        arguments["accountId"] = .string(account)
        let answers = try await server.call(person, [("\(type)/set", .object(arguments))], push: push)
        for refused in ["notCreated", "notUpdated", "notDestroyed"] {
            #expect(answers[0].arguments[refused] ?? .null == .null, "\(answers[0].arguments)")
        }
    }

    private func found(_ server: OptimistServer, by person: Person) async throws {
        let member: JSON = ["space": .string(Self.space), "name": "Ann Secret", "role": "owner"]
        try await set("optimist_member", ["create": [ServedSpace.annRow: member]], by: person, at: server, push: 1)
    }

    private func invite(_ server: OptimistServer, by person: Person) async throws {
        let row: JSON = [
            "space": .string(Self.space), "role": "writer", "label": "Label Secret", "uses": 9,
            "hash": .string(ServedSpace.secret(1).hash),
        ]
        try await set("optimist_invitation", ["create": [Self.invitation: row]], by: person, at: server)
    }

    private func join(_ server: OptimistServer, _ person: Person, _ row: String = ServedSpace.bobRow) async throws {
        let member: JSON = [
            "space": .string(Self.space), "name": "Bob Secret", "ticket": .string(ServedSpace.secret(1).text),
        ]
        try await set("optimist_member", ["create": [row: member]], by: person, at: server)
    }

    private func events(_ server: OptimistServer) async throws -> [JSON] {
        try await server.carryOut(.space(.audit(space: Self.space, limit: 100)))["events"]?.array ?? []
    }

    /// Each event in one line, oldest first: what, by whom, about what, and the detail.
    private func lines(_ server: OptimistServer, _ names: [String: String] = [:]) async throws -> [String] {
        try await events(server).reversed().map { event in
            ["what", "person", "subject", "detail"].map { name in
                let text = event[name]?.string ?? "-"
                return names[text] ?? text
            }.joined(separator: " ")
        }
    }

    // MARK: - Events

    @Test func `the audit has who founded, invited, joined, moved, changed a role, removed, left and ended a space`()
        async throws
    {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            try await invite(server, by: ann)
            try await join(server, bob)
            // A use of the invitation, a name and the rows of the app are no events.
            try await set("optimist_member", ["update": [ServedSpace.bobRow: ["name": "B"]]], by: bob, at: server)
            try await set("List", ServedSpace.lists(1), by: bob, at: server)
            try await set("optimist_member", ["update": [ServedSpace.bobRow: ["role": "owner"]]], by: ann, at: server)
            try await set("optimist_invitation", ["update": [Self.invitation: ["uses": 5]]], by: bob, at: server)
            try await set("optimist_invitation", ["destroy": [.string(Self.invitation)]], by: bob, at: server)
            let copy: JSON = [
                "fromAccountId": .string(Self.account), "accountId": .string(bob.account),
                "onSuccessDestroyOriginal": true,
                "create": [RowKey.list(1).id: ["id": .string(RowKey.list(1).id), "space": .null]],
            ]
            #expect(try await server.call(bob, "List/copy", copy)["notCreated"] == .null)
            try await set("optimist_member", ["destroy": [.string(ServedSpace.annRow)]], by: bob, at: server)
            try await set("optimist_member", ["destroy": [.string(ServedSpace.bobRow)]], by: bob, at: server)
            let names = [ann.account: "ann", bob.account: "bob", Self.invitation: "invitation"]
            #expect(
                try await lines(server, names) == [
                    "founded ann ann -", "invited ann invitation writer", "joined bob invitation writer",
                    "role ann bob owner", "changedInvitation bob invitation writer", "revoked bob invitation -",
                    "movedOut bob bob 1", "removed bob ann -", "ended bob - -",
                ])
            let first = try #require(try await events(server).last)
            #expect(first["time"] == .string(site.now.utcText) && first["device"] == "deviceAA" && first["seq"] == 1)
            let text = try await events(server).map(\.description).joined()
            #expect(!text.contains("Secret") && !text.contains("example.org"))
        }
    }

    @Test func `the audit names no person for the operator's orders, and a visitor's refused write is no event`()
        async throws
    {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            let (a, b) = ("a@example.org", "bob@example.org")
            _ = try await server.carryOut(
                .space(.create(space: Self.space, isPublic: true, owner: a, name: "Ann")))
            let create: JSON = ["accountId": .string(Self.account), "create": ServedSpace.lists(1)["create"] ?? .null]
            #expect(try await server.call(bob, "List/set", create)["notCreated"] != .null)
            _ = try await server.carryOut(.space(.setOwner(space: Self.space, email: b)))
            _ = try await server.carryOut(.space(.removeMember(space: Self.space, member: a)))
            let names = [ann.account: "ann", bob.account: "bob"]
            let expected = ["founded - ann -", "admitted - bob owner", "removed - ann -"]
            #expect(try await lines(server, names) == expected)
            let shown = try await server.carryOut(.space(.show(space: Self.space)))
            #expect(shown["events"] == .array(try await events(server)))
            _ = try await server.carryOut(.space(.delete(space: Self.space)))
            #expect(try await lines(server, names) == expected + ["ended - - -"])
            let unknown = await #expect(throws: OptimistError.self) {
                _ = try await server.carryOut(.space(.audit(space: RowKey.id(0xDEF), limit: 1)))
            }
            #expect(unknown?.code == .notFound)
        }
    }

    @Test func `the audit has a member's refused rows once a day, under the seq of that time`() async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            let eve = try await http.signUp("eve@example.org")
            try await found(server, by: ann)
            try await invite(server, by: ann)
            try await join(server, bob)
            try await set("optimist_member", ["update": [ServedSpace.bobRow: ["role": "reader"]]], by: ann, at: server)
            let seq = try #require(try await events(server).first?["seq"])
            func push(_ person: Person, _ number: Int) async throws {
                let list = ServedSpace.lists(number)["create"] ?? .null
                let call: JSON = ["accountId": .string(Self.account), "create": list]
                #expect(try await server.call(person, "List/set", call)["created"]?.object?.isEmpty ?? true)
            }
            for number in 0..<3 { try await push(bob, number) }
            // The space is the source of a move that its reader may not make.
            let list = RowKey.list(1).id
            let move: JSON = [
                "fromAccountId": .string(Self.account), "accountId": .string(bob.account),
                "onSuccessDestroyOriginal": true, "create": [list: ["id": .string(list), "space": .null]],
            ]
            #expect(try await server.call(bob, "List/copy", move)["notCreated"] != .null)
            try await push(eve, 1)
            let lowered: JSON = [
                "accountId": .string(Self.account), "update": [ServedSpace.annRow: ["role": "reader"]],
            ]
            #expect(try await server.call(ann, "optimist_member/set", lowered)["notUpdated"] != .null)
            site.advance(by: 86_399)
            try await push(bob, 3)
            site.advance(by: 2)
            try await push(bob, 4)
            let names = [ann.account: "ann", bob.account: "bob"]
            #expect(
                try await lines(server, names).suffix(4) == [
                    "role ann bob reader", "refused bob - roleForbids", "refused ann - lastOwner",
                    "refused bob - roleForbids",
                ])
            #expect(try await events(server).prefix(4).allSatisfy { $0["seq"] == seq })
        }
    }

    @Test func `P13 the audit keeps the id of a deleted person and says who became an owner`() async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            try await invite(server, by: ann)
            try await join(server, bob)
            _ = try await server.carryOut(.delete(email: "a@example.org"))
            let names = [ann.account: "ann", bob.account: "bob", Self.invitation: "invitation"]
            #expect(try await lines(server, names).suffix(2) == ["left - ann -", "role - bob owner"])
        }
    }

    // MARK: - The operator's page

    @Test func `O2 the operator's page shows a space's members by id, its rows and its audit, and no names`()
        async throws
    {
        let change: (inout ServerConfiguration) -> Void = { $0.adminPort = 0 }
        try await site.serving(schema: ServedSpace.schema, change: change) { server, http async throws in
            let admin = HTTPSide(base: "http://127.0.0.1:\(try #require(try await server.adminPort))")
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            #expect(try await admin.get("/admin/api/spaces").json == ["spaces": [], "next": .null])
            try await found(server, by: ann)
            try await invite(server, by: ann)
            try await join(server, bob)
            _ = try await server.carryOut(
                .space(.create(space: RowKey.id(0xDEF), isPublic: true, owner: "a@example.org", name: "News Secret")))
            let first = try await admin.get("/admin/api/spaces?limit=1").json
            #expect(first["next"] == .string(Self.account) && first["spaces"]?.array?.count == 1)
            let second = try await admin.get("/admin/api/spaces?limit=1&after=\(Self.account)").json
            #expect(second["next"] == .null && second["spaces"]?.array?.first?["kind"] == "public")
            let answer = try await admin.get("/admin/api/spaces/\(Self.space)")
            let shown = answer.json
            #expect(shown["rows"] == 3 && shown["maxRows"] == 100_000 && shown["members"] == 2)
            let roles = shown["people"]?.array?.map { "\($0["person"]?.string ?? "") \($0["role"]?.string ?? "")" }
            #expect(roles == ["\(ann.account) owner", "\(bob.account) writer"].sorted())
            #expect(shown["events"] == .array(try await events(server)) && shown["next"] == .null)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("Secret"))
            let place = "\(shown["events"]?.array?[1]["seq"]?.int ?? 0).0"
            let older = try await admin.get("/admin/api/spaces/\(Self.space)?before=\(place)").json
            #expect(older["events"]?.array?.map { $0["what"] } == ["founded"])
            #expect(try await admin.get("/admin/api/spaces/\(Self.space)?before=x").status == 400)
            #expect(try await admin.get("/admin/api/spaces/\(RowKey.id(1))").status == 404)
            #expect(try await admin.get("/admin/api/spaces?limit=0").status == 400)
            #expect(try await admin.get("/admin/api/spaces", headers: ["origin": "http://evil.example"]).status == 403)
            #expect(try await http.get("/admin/api/spaces").status == 404)
        }
    }

    // MARK: - Growth

    @Test func `events are kept for 400 days, and at most 10,000 of a space`() async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let ann = try await http.signUp()
            try await found(server, by: ann)
            let milliseconds = site.now.millisecondsSince1970
            try await server.storage.rows.write(account: Self.account, as: .operator) { account in
                let events = (0..<SpaceEvent.limit).map { number in
                    SpaceEvent(
                        what: "role", person: nil, device: nil, subject: "\(number)", detail: nil,
                        milliseconds: milliseconds + Int64(number) * 1_000)
                }
                _ = try account.append([], day: 1)
                _ = try account.note(events)
            }
            #expect(try await site.count(of: "optimist_audit", account: Self.account) == SpaceEvent.limit + 1)
            let sweep = TombstoneSweep(store: server.storage.rows, tombstoneDays: 90)
            try await sweep.run(now: site.now)
            #expect(try await site.count(of: "optimist_audit", account: Self.account) == SpaceEvent.limit)
            #expect(!(try await lines(server)).contains { $0.hasPrefix("founded") })
            let day = 86_400.0
            try await sweep.run(now: site.now.addingTimeInterval(400 * day))
            #expect(try await site.count(of: "optimist_audit", account: Self.account) == SpaceEvent.limit)
            try await sweep.run(now: site.now.addingTimeInterval(402 * day))
            #expect(try await site.count(of: "optimist_audit", account: Self.account) == 0)
        }
    }

    // MARK: - A deleted space

    @Test func `P10 former members of a deleted space learn for a year that it ended, and strangers learn nothing`()
        async throws
    {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let people = [try await http.signUp(), try await http.signUp("bob@example.org")]
            let (cy, eve) = (try await http.signUp("cy@example.org"), try await http.signUp("eve@example.org"))
            try await found(server, by: people[0])
            try await invite(server, by: people[0])
            try await join(server, people[1])
            try await join(server, cy, RowKey.id(0xC))
            try await set("optimist_member", ["destroy": [.string(RowKey.id(0xC))]], by: people[0], at: server)
            _ = try await server.carryOut(.space(.delete(space: Self.space)))
            func ask(_ person: Person) async throws -> [JSON] {
                let states: JSON = ["states": [Self.account: .string("\(server.epoch).1")]]
                let list: JSON = ["accountId": .string(Self.account), "ids": .null]
                let ticket: JSON = ["ticket": .string(ServedSpace.secret(1).text), "space": .string(Self.space)]
                let join: JSON = ["accountId": .string(Self.account), "create": [RowKey.id(0xD): ticket]]
                return [
                    .object(try await server.call(person, "RowSync/changed", states)),
                    .object(try await server.call(person, "List/get", list)),
                    .object(try await server.call(person, "List/set", list)),
                    .object(try await server.call(person, "optimist_member/set", join)),
                ]
            }
            for (person, reason) in [(people[0], "deleted"), (people[1], "deleted"), (cy, "removed")] {
                let answers = try await ask(person)
                #expect(answers[0]["ended"]?[Self.account]?["reason"] == .string(reason))
                for answer in answers[1...2] {
                    #expect(answer["type"] == "accessEnded" && answer["reason"] == .string(reason))
                }
                #expect(answers[3]["notCreated"]?[RowKey.id(0xD)]?["type"] == "invitationInvalid")
            }
            let stranger = try await ask(eve)
            #expect(stranger[0]["notFound"] == [.string(Self.account)])
            #expect(stranger[1...2].allSatisfy { $0["type"] == "accountNotFound" })
            #expect(stranger[3]["notCreated"]?[RowKey.id(0xD)]?["type"] == "invitationInvalid")
            let day = 86_400.0
            site.advance(by: 364 * day)
            try await server.registry.eraseDeleted()
            #expect(try await ask(people[0])[1]["type"] == "accessEnded")
            site.advance(by: 2 * day)
            try await server.registry.eraseDeleted()
            #expect(try await ask(people[0])[1]["type"] == "accountNotFound")
            for table in ["optimist_members", "optimist_audit", "optimist_deleted_accounts"] {
                #expect(try await site.count(of: table, account: Self.account) == 0, "\(table)")
            }
        }
    }
}
