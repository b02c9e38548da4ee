// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// The operator's orders on spaces, and the effect of a deleted account on them.
@Suite(.timeLimit(.minutes(20)))
struct OperatorSpacesTests {
    private let site = Site()

    private func create(_ server: OptimistServer, isPublic: Bool = false) async throws {
        let order = SpaceOrder.create(
            space: ServedSpace.space, isPublic: isPublic, owner: "a@example.org", name: "Ann")
        _ = try await server.carryOut(.space(order))
    }

    /// Makes the person of a number a member, with a row of the same number.
    private func admit(_ server: OptimistServer, _ person: Person, _ role: Role, _ number: Int) async throws {
        try await server.storage.rows.write(account: ServedSpace.account, as: .operator) { account in
            var edit = MemberEdit(account, "optimist_member", ServerClock(milliseconds: 1_800_000_000_000))
            edit.add(
                RowKey.id(0xF00 + number), of: person.account,
                [
                    "space": .string(ServedSpace.space), "name": .string("Person \(number)"),
                    "role": .string(role.rawValue),
                ])
            _ = try edit.store()
        }
    }

    private func addList(_ server: OptimistServer, _ number: Int, by person: Person) async throws -> JSONObject {
        let create: JSON = [RowKey.list(number).id: ServedSpace.list(ServedSpace.space)]
        return try await server.call(
            person, "List/set", ["accountId": .string(ServedSpace.account), "create": create])
    }

    private func members(_ server: OptimistServer) async throws -> [String: String] {
        let members = try await server.carryOut(.space(.members(space: ServedSpace.space)))["members"]?.array ?? []
        return Dictionary(
            members.map { ($0["email"]?.string ?? "", $0["role"]?.string ?? "") }, uniquingKeysWith: { $1 })
    }

    private func refusal(_ server: OptimistServer, _ order: SpaceOrder) async throws -> OptimistError.Code? {
        await #expect(throws: OptimistError.self) { _ = try await server.carryOut(.space(order)) }?.code
    }

    // MARK: - Orders

    @Test func `P18 the session lists a public space that a person uses, and its pokes are heard`() async throws {
        try await Site().serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            _ = try await server.carryOut(
                .space(.create(space: ServedSpace.space, isPublic: true, owner: "a@example.org", name: "News")))
            func accounts() async throws -> JSONObject {
                let session = try await http.get("/jmap/session", token: bob.access)
                return try #require(session.json["accounts"]?.object)
            }
            func addList(_ number: Int) async throws {
                let create: JSON = [RowKey.list(number).id: ServedSpace.list(ServedSpace.space)]
                let arguments: JSON = ["accountId": .string(ServedSpace.account), "create": create]
                _ = try await server.call(ann, "List/set", arguments)
            }
            try await SpaceServerTests.hearing(bob, at: server) { ear async throws in
                #expect(try await accounts()[ServedSpace.account] == nil)
                _ = try await server.call(bob, "optimist_space/set", ["create": [ServedSpace.space: ["name": "News"]]])
                #expect(try await accounts()[ServedSpace.account]?["isReadOnly"] == true)
                try await ear.hear(ServedSpace.account, 1)
                let states: JSON = [ServedSpace.account: .string("\(server.epoch).0")]
                let changed = try await server.call(bob, "RowSync/changed", ["states": states])
                #expect(changed["changed"]?[ServedSpace.account] == .string("\(server.epoch).1"))
                try await addList(1)
                try await ear.hear(ServedSpace.account, 2)
                // The list of members is read again, and does not silence a visitor.
                _ = try await server.carryOut(.space(.setOwner(space: ServedSpace.space, email: "bob@example.org")))
                try await ear.hear(ServedSpace.account, 3)
                _ = try await server.carryOut(.space(.removeMember(space: ServedSpace.space, member: bob.account)))
                try await ear.hear(ServedSpace.account, 4)
                try await addList(2)
                try await ear.hear(ServedSpace.account, 5)
            }
        }
    }

    @Test func `an operator lists, shows and changes spaces, and impossible orders are refused with a reason`()
        async throws
    {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            let space = ServedSpace.space
            #expect(try await server.carryOut(.space(.list)) == ["spaces": []])
            #expect(try await refusal(server, .show(space: space)) == .notFound)
            try await create(server)
            #expect(try await addList(server, 1, by: ann)["notCreated"] == .null)
            let shown = try await server.carryOut(.space(.show(space: space)))
            #expect(shown["kind"] == "space" && shown["members"] == 1 && shown["owners"] == 1 && shown["rows"] == 2)
            var listed = try #require(shown.object)
            listed["events"] = nil
            #expect(try await server.carryOut(.space(.list)) == ["spaces": [.object(listed)]])
            let again = SpaceOrder.create(space: space, isPublic: true, owner: "bob@example.org", name: "")
            #expect(try await refusal(server, again) == .spaceRefused)
            #expect(try await refusal(server, .setOwner(space: space, email: "eve@example.org")) == .notFound)
            #expect(try await refusal(server, .removeMember(space: space, member: "bob@example.org")) == .notFound)
            #expect(try await refusal(server, .removeMember(space: space, member: "a@example.org")) == .spaceRefused)
            _ = try await server.carryOut(.space(.setOwner(space: space, email: "bob@example.org")))
            #expect(try await members(server) == ["a@example.org": "owner", "bob@example.org": "owner"])
            _ = try await server.carryOut(.space(.removeMember(space: space, member: ann.account)))
            #expect(try await members(server) == ["bob@example.org": "owner"])
            #expect(try await addList(server, 2, by: ann)["type"] == "accessEnded")
            #expect(try await addList(server, 2, by: bob)["notCreated"] == .null)
        }
        if site.database == nil { #expect(try DataCheck.problems(of: site.directory) == []) }
    }

    @Test func `a deleted space is gone for its members, and its id is not founded again`() async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await create(server, isPublic: true)
            _ = try await addList(server, 1, by: ann)
            let receipt = try await server.carryOut(.space(.delete(space: ServedSpace.space)))["receipt"]
            #expect(receipt?["account"] == .string(ServedSpace.account) && receipt?["rows"] == 2)
            #expect(receipt?["isErased"] == true)
            #expect(try await site.count(of: "optimist_rows", account: ServedSpace.account) == 0)
            #expect(try await addList(server, 2, by: ann)["reason"] == "deleted")
            #expect(try await addList(server, 2, by: bob)["type"] == "accountNotFound")
            let member: JSON = ["space": .string(ServedSpace.space), "name": "Bob", "role": "owner"]
            let founded = try await server.call(
                bob, "optimist_member/set",
                ["accountId": .string(ServedSpace.account), "create": [ServedSpace.bobRow: member]])
            #expect(founded["type"] == "accountNotFound")
            #expect(try await refusal(server, .delete(space: ServedSpace.space)) == .notFound)
        }
    }

    @Test func `P10 a space whose last member has left is erased, and its id is not founded again`() async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await create(server)
            try await admit(server, bob, .writer, 1)
            _ = try await addList(server, 1, by: ann)
            func leave(_ person: Person) async throws {
                let rows = try await server.storage.rows.read(account: ServedSpace.account, as: .operator) {
                    try $0.members()
                }
                let row = try #require(rows.first { $0.person == person.account }?.memberID)
                _ = try await server.call(
                    person, "optimist_member/set",
                    ["accountId": .string(ServedSpace.account), "destroy": [.string(row)]])
            }
            func stored() async throws -> Int {
                try await site.count(of: "optimist_rows", account: ServedSpace.account)
            }
            try await leave(bob)
            try await server.registry.deleteEndedSpaces()
            #expect(try await stored() > 0)
            try await leave(ann)
            try await server.registry.deleteEndedSpaces()
            #expect(try await stored() == 0)
            #expect(try await site.count(of: "optimist_deleted_accounts", account: ServedSpace.account) == 1)
            #expect(try await addList(server, 2, by: ann)["reason"] == "deleted")
            #expect(try await addList(server, 2, by: bob)["reason"] == "left")
            try await server.registry.deleteEndedSpaces()
        }
    }

    // MARK: - The end of a person

    @Test(arguments: [[Role.writer, .reader], [.reader, .writer], [.reader, .reader], [.owner, .reader]])
    func `P13 a deleted person's spaces keep their rows and have an owner, and the name is erased`(
        roles: [Role]
    ) async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let ann = try await http.signUp()
            try await create(server)
            _ = try await addList(server, 1, by: ann)
            let people = [try await http.signUp("b@example.org"), try await http.signUp("c@example.org")]
            for (number, role) in roles.enumerated() { try await admit(server, people[number], role, number) }
            let receipt = try await server.carryOut(.delete(email: "a@example.org"))["receipt"]
            #expect(receipt?["spaces"] == 1 && receipt?["isErased"] == true)
            var expected = ["b@example.org": roles[0].rawValue, "c@example.org": roles[1].rawValue]
            let heir = roles == [.reader, .writer] ? "c@example.org" : "b@example.org"
            expected[heir] = "owner"
            #expect(try await members(server) == expected)
            let lines = try await export(.space(ServedSpace.space))
            #expect(!lines.map(\.description).joined().contains("Ann"))
            #expect(lines.contains { $0["row"]?["type"] == "List" && $0["row"]?["isDeleted"] == false })
            let heirNumber = heir == "c@example.org" ? 1 : 0
            #expect(try await addList(server, 2, by: people[heirNumber])["notCreated"] == .null)
        }
        if site.database == nil { #expect(try DataCheck.problems(of: site.directory) == []) }
    }

    @Test func `P13 a space without other members is deleted with its person, unless it is public`() async throws {
        for isPublic in [false, true] {
            let site = Site()
            try await site.serving(schema: ServedSpace.schema) { server, http async throws in
                let ann = try await http.signUp()
                try await create(server, isPublic: isPublic)
                _ = try await addList(server, 1, by: ann)
                _ = try await server.carryOut(.delete(email: "a@example.org"))
                let rows = try await site.count(of: "optimist_rows", account: ServedSpace.account)
                #expect((rows > 0) == isPublic)
                #expect(try await server.registry.spaces.spaces() == (isPublic ? [ServedSpace.account] : []))
                // The operator gives the public space another owner.
                guard isPublic else { return }
                let bob = try await http.signUp("bob@example.org")
                _ = try await server.carryOut(.space(.setOwner(space: ServedSpace.space, email: "bob@example.org")))
                #expect(try await addList(server, 2, by: bob)["notCreated"] == .null)
            }
        }
    }

    @Test func `P13 an interrupted deletion of a person is continued in the spaces`() async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await create(server)
            try await admit(server, bob, .reader, 0)
            _ = try await server.storage.accounts.delete(account: ann.account, if: nil, at: 1_800_000_000)
            #expect(try await members(server) == ["": "owner", "bob@example.org": "reader"])
            try await server.registry.eraseDeleted()
            #expect(try await members(server) == ["bob@example.org": "owner"])
            try await server.registry.leaveSpaces(ann.account)
            #expect(try await members(server) == ["bob@example.org": "owner"])
        }
    }

    // MARK: - Before the end of a person

    @Test(arguments: OwnerlessSpaces.allCases)
    func `P13 a person learns what a deletion does to the spaces, and it does that`(ownerless: OwnerlessSpaces)
        async throws
    {
        try await site.serving(schema: ServedSpace.schema, change: { $0.ownerlessSpaces = ownerless }) {
            server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            func forecast(_ person: Person) async throws -> JSON? {
                let answer = try await http.get("/account/deletion", token: person.access)
                #expect(answer.status == 200)
                return answer.json["spaces"]
            }
            #expect(try await forecast(ann) == [])
            try await create(server)
            let space = JSON.string(ServedSpace.space)
            let alone: JSON = ["space": space, "role": "owner", "members": 1, "ends": true, "heir": .null]
            #expect(try await forecast(ann) == [alone])
            try await admit(server, bob, .reader, 0)
            let heir: JSON = ["member": .string(RowKey.id(0xF00)), "name": "Person 0"]
            let isEnd = ownerless == .end
            let shared: JSON = [
                "space": space, "role": "owner", "members": 2, "ends": .bool(isEnd), "heir": isEnd ? .null : heir,
            ]
            #expect(try await forecast(ann) == [shared])
            let reader: JSON = ["space": space, "role": "reader", "members": 2, "ends": false, "heir": .null]
            #expect(try await forecast(bob) == [reader])
            #expect(try await http.get("/account/deletion").status == 401)
            let password: JSON = ["password": "correct horse"]
            #expect(try await http.post("/auth/delete-account", password, token: ann.access).status == 200)
            if isEnd {
                #expect(try await addList(server, 2, by: bob)["reason"] == "deleted")
                #expect(try await server.registry.spaces.spaces() == [])
            } else {
                #expect(try await members(server) == ["bob@example.org": "owner"])
            }
            #expect(try await forecast(bob)?.array?.count == (isEnd ? 0 : 1))
        }
        if site.database == nil { #expect(try DataCheck.problems(of: site.directory) == []) }
    }

    @Test func `P13 an operator's order says what happens to spaces without an owner, and a public one stays`()
        async throws
    {
        for isPublic in [false, true] {
            let site = Site()
            try await site.serving(schema: ServedSpace.schema) { server, http async throws in
                _ = try await http.signUp()
                let bob = try await http.signUp("bob@example.org")
                try await create(server, isPublic: isPublic)
                try await admit(server, bob, .writer, 0)
                _ = try await server.carryOut(.delete(email: "a@example.org", ownerless: .end))
                #expect(try await server.registry.spaces.spaces() == (isPublic ? [ServedSpace.account] : []))
                if isPublic { #expect(try await members(server) == ["bob@example.org": "owner"]) }
            }
        }
    }

    // MARK: - Export

    private func export(_ subject: AccountExport.Subject) async throws -> [JSON] {
        let lines = Mutex<[JSON]>([])
        let keep: @Sendable (JSON) -> Void = { line in lines.withLock { $0.append(line) } }
        if let database = site.database {
            try await PostgresOpening(database: database, logger: SharedDatabase.quiet).export(subject, keep)
        } else {
            try AccountExport.read(subject, in: site.directory, keep)
        }
        return lines.withLock(\.self)
    }

    @Test(arguments: [Role.owner, .writer])
    func `O8 an export has the memberships, and the rows of spaces that the person owns`(role: Role) async throws {
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await create(server)
            try await admit(server, bob, role, 0)
            _ = try await addList(server, 1, by: ann)
            let lines = try await export(.account(email: "bob@example.org"))
            let memberships = lines.compactMap { $0["membership"] }
            #expect(memberships.map { $0["space"] } == [.string(ServedSpace.space)])
            #expect(memberships.map { $0["role"] } == [.string(role.rawValue)])
            let rows = lines.compactMap { $0["row"] }.filter { $0["space"] == .string(ServedSpace.account) }
            #expect(rows.count == (role == .owner ? 3 : 0))
            let space = try await export(.space(ServedSpace.space))
            #expect(space.first?["space"]?["kind"] == "space")
            #expect(space.last?["end"] == ["identities": 0, "sessions": 0, "memberships": 2, "events": 2, "rows": 3])
            let none = await #expect(throws: OptimistError.self) { _ = try await export(.space(RowKey.id(0xDEF))) }
            #expect(none?.code == .notFound)
        }
    }
}
