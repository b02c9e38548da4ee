// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Spaces on a server with its HTTP side.
@Suite(.timeLimit(.minutes(20)))
struct SpaceServerTests {
    @Test func `P10 a server founds a space, and keeps it through a restart`() async throws {
        let site = Site()
        let ann = try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let ann = try await http.signUp()
            let session = try await http.get("/jmap/session", token: ann.access)
            #expect(String(decoding: session.json.bytes, as: UTF8.self).contains("optimist_member"))
            let member: JSON = ["space": .string(ServedSpace.space), "name": "Ann", "role": "owner"]
            let calls: [(String, JSON)] = [
                (
                    "optimist_member/set",
                    ["accountId": .string(ServedSpace.account), "create": [ServedSpace.annRow: member]]
                ),
                (
                    "List/set",
                    [
                        "accountId": .string(ServedSpace.account),
                        "create": [RowKey.list(1).id: ServedSpace.list(ServedSpace.space)],
                    ]
                ),
            ]
            let answers = try await server.call(ann, calls, push: 1)
            #expect(
                answers.map { $0.arguments["newState"] } == Array(repeating: answers[0].arguments["newState"], count: 2)
            )
            #expect(answers.allSatisfy { $0.arguments["notCreated"] == .null })
            return ann
        }
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let calls: [(String, JSON)] = [("List/get", ["accountId": .string(ServedSpace.account), "ids": .null])]
            let answers = try await server.call(ann, calls)
            #expect(answers[0].arguments["list"]?.array?.count == 1)
            let eve = try await http.signUp("eve@example.org")
            #expect(try await server.call(eve, calls)[0].arguments["type"] == "accountNotFound")
        }
    }

    // MARK: - People

    private func found(_ server: OptimistServer, by person: Person) async throws {
        let member: JSON = ["space": .string(ServedSpace.space), "name": "Ann", "role": "owner"]
        _ = try await server.call(
            person, "optimist_member/set",
            ["accountId": .string(ServedSpace.account), "create": [ServedSpace.annRow: member]])
        try await invite(server, by: person, 1)
    }

    private func invite(_ server: OptimistServer, by person: Person, _ number: UInt8) async throws {
        let row: JSON = [
            "space": .string(ServedSpace.space), "role": "reader", "label": "Home", "uses": 2,
            "hash": .string(ServedSpace.secret(number).hash),
        ]
        _ = try await server.call(
            person, "optimist_invitation/set",
            ["accountId": .string(ServedSpace.account), "create": [RowKey.id(0x100 + Int(number)): row]])
    }

    private func join(_ server: OptimistServer, _ person: Person, push: Int64? = nil) async throws {
        let member: JSON = [
            "space": .string(ServedSpace.space), "name": "Bob", "ticket": .string(ServedSpace.secret(1).text),
        ]
        let answers = try await server.call(
            person,
            [
                ("optimist_space/set", ["create": [ServedSpace.space: ["name": "Our home"]]]),
                (
                    "optimist_member/set",
                    ["accountId": .string(ServedSpace.account), "create": [ServedSpace.bobRow: member]]
                ),
            ], push: push)
        #expect(answers.allSatisfy { $0.arguments["notCreated"] == .null })
    }

    private func addList(_ server: OptimistServer, _ number: Int, by person: Person) async throws {
        let create: JSON = [RowKey.list(number).id: ServedSpace.list(ServedSpace.space)]
        _ = try await server.call(person, "List/set", ["accountId": .string(ServedSpace.account), "create": create])
    }

    // MARK: - The link

    @Test func `P9 a link shows its invitation while it can be used`() async throws {
        try await Site().serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            func ask(_ number: UInt8, _ space: String = ServedSpace.space) async throws -> HTTPSide.Answer {
                let body: JSON = ["space": .string(space), "secret": .string(ServedSpace.secret(number).text)]
                return try await http.post("/spaces/invitation", body)
            }
            let shown = try await ask(1)
            #expect(shown.status == 200)
            #expect(shown.json == ["label": "Home", "role": "reader", "inviter": "Ann", "daysLeft": 7])
            try await join(server, bob)
            #expect(try await ask(1).status == 200)
            let revoked: JSON = ["accountId": .string(ServedSpace.account), "destroy": [.string(RowKey.id(0x101))]]
            _ = try await server.call(ann, "optimist_invitation/set", revoked)
            let answers = [
                try await ask(1), try await ask(2), try await ask(1, RowKey.id(0xDEF)), try await ask(1, "x"),
            ]
            #expect(answers.allSatisfy { $0.status == 404 && $0.body == answers[0].body })
            #expect(try await http.post("/spaces/invitation", ["space": "x"]).status == 400)
        }
    }

    @Test func `N3 an address may look at so many links, as it may sign in`() async throws {
        let change: (inout ServerConfiguration) -> Void = { $0.signInBurstPerAddress = 3 }
        try await Site().serving(schema: ServedSpace.schema, change: change) { _, http async throws in
            var statuses: [Int] = []
            for _ in 0..<4 {
                let body: JSON = [
                    "space": .string(ServedSpace.space), "secret": .string(ServedSpace.secret(1).text),
                ]
                statuses.append(try await http.post("/spaces/invitation", body).status)
            }
            #expect(statuses == [404, 404, 404, 429])
        }
    }

    // MARK: - Session and states

    @Test func `P7 the session lists the spaces that a person uses and is a member of`() async throws {
        try await Site().serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            let eve = try await http.signUp("eve@example.org")
            _ = try await server.call(eve, "optimist_space/set", ["create": [ServedSpace.space: ["name": "x"]]])
            try await join(server, bob)
            func accounts(_ person: Person) async throws -> JSONObject {
                try #require(await http.get("/jmap/session", token: person.access).json["accounts"]?.object)
            }
            let space: JSON = [
                "name": "Our home", "isPersonal": false, "isReadOnly": true,
                "accountCapabilities": [RowSync.core: [:], RowSync.capability: [:]],
            ]
            #expect(try await accounts(bob)[ServedSpace.account] == space)
            for person in [ann, eve] { #expect(try await accounts(person).members.count == 1) }
            let session = try await http.get("/jmap/session", token: bob.access).json
            #expect(session["capabilities"]?[RowSync.capability]?["maxMembers"] == 100)
        }
    }

    @Test func `P7 a client asks which of its accounts have changed, and learns nothing of others`() async throws {
        try await Site().serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            try await join(server, bob)
            let none = try #require(SpaceAccount.id(ofSpace: RowKey.id(0xDEF)))
            func ask(_ person: Person, _ states: JSONObject) async throws -> JSONObject {
                try await server.call(person, "RowSync/changed", ["states": .object(states)])
            }
            let old = JSON.string("\(server.epoch).0")
            let first = try await ask(bob, [bob.account: old, ServedSpace.account: old, ann.account: old, none: old])
            let present = try #require(first["changed"]?.object)
            #expect(present.members.map(\.key) == [bob.account, ServedSpace.account])
            #expect(first["notFound"] == [.string(ann.account), .string(none)])
            #expect(try await ask(bob, present)["changed"] == [:])
            let removal: JSON = ["accountId": .string(ServedSpace.account), "destroy": [.string(ServedSpace.bobRow)]]
            _ = try await server.call(ann, "optimist_member/set", removal)
            let last = try await ask(bob, present)
            #expect(last["changed"] == [:] && last["notFound"] == [])
            #expect(last["ended"]?[ServedSpace.account]?["reason"] == "removed")
            let many = JSONObject((0...1_000).map { ("a\($0)", old) })
            #expect(try await ask(bob, many)["type"] == "requestTooLarge")
        }
    }

    // MARK: - Pokes

    @Test func `P15 a stream begins with the states of all the person's spaces`() async throws {
        try await Site().serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            try await join(server, bob)
            try await http.events(token: bob.access) { _, data in
                let accounts = data["changed"]?.object?.members.map(\.key)
                #expect(accounts == [bob.account, ServedSpace.account].sorted())
                return true
            }
        }
    }

    @Test func `P8 P15 a person hears of a space from joining on, and of the removal, and of nothing after it`()
        async throws
    {
        try await Site().serving(schema: ServedSpace.schema) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            try await found(server, by: ann)
            try await Self.hearing(bob, at: server) { ear async throws in
                try await join(server, bob)
                try await ear.hear(ServedSpace.account, 3)
                try await addList(server, 1, by: ann)
                try await ear.hear(ServedSpace.account, 4)
                let removal: JSON = [
                    "accountId": .string(ServedSpace.account), "destroy": [.string(ServedSpace.bobRow)],
                ]
                _ = try await server.call(ann, "optimist_member/set", removal)
                try await ear.hear(ServedSpace.account, 5)
                try await addList(server, 2, by: ann)
                _ = try await server.call(bob, "Memo/set", ["create": [RowKey.id(1): ["text": "m"]]])
                try await ear.hear(bob.account, 2)
                #expect(ear.last[ServedSpace.account] == 5)
                // An owner invites the person again.
                try await invite(server, by: ann, 2)
                let again: JSON = [
                    "space": .string(ServedSpace.space), "ticket": .string(ServedSpace.secret(2).text),
                ]
                _ = try await server.call(
                    bob, "optimist_member/set",
                    ["accountId": .string(ServedSpace.account), "create": [RowKey.id(0xB2): again]])
                try await ear.hear(ServedSpace.account, 8)
            }
        }
    }

    /// Listens as a person's device does.
    static func hearing(
        _ person: Person, at server: OptimistServer, _ body: (inout Ear) async throws -> Void
    ) async throws {
        let listener = Listener(
            account: person.account, session: "s", types: Set(server.routes.service.schema.types.keys))
        server.pokes.add(listener)
        defer { server.pokes.remove(listener) }
        try await server.routes.watch.follow(person.account, telling: listener)
        var ear = Ear(listener)
        try await ear.hear(person.account, 0)
        try await body(&ear)
    }

    struct Ear {
        private let listener: Listener
        /// The last seq that was heard of each account.
        private(set) var last: [String: Int64] = [:]

        fileprivate init(_ listener: Listener) { self.listener = listener }

        /// Waits until an account's state was heard.
        mutating func hear(_ account: String, _ seq: Int64) async throws {
            while last[account] ?? -1 < seq {
                var wakes = listener.wakes.makeAsyncIterator()
                let wake: Void? = await wakes.next()
                try #require(wake != nil)
                listener.rested()
                guard case .state(let changes) = listener.takeEvent(pingSeconds: 0) else { continue }
                for (account, change) in changes { last[account] = change.state.seq }
            }
            #expect(last[account] == seq)
        }
    }

    @Test(.postgres) func `P15 a space's changes through one process are heard through another`() async throws {
        let site = Site()
        try await site.serving(schema: ServedSpace.schema) { here, http async throws in
            try await site.serving(schema: ServedSpace.schema) { there, _ async throws in
                let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
                try await found(here, by: ann)
                try await Self.hearing(bob, at: there) { ear async throws in
                    try await join(here, bob)
                    try await ear.hear(ServedSpace.account, 3)
                    try await addList(here, 1, by: ann)
                    try await ear.hear(ServedSpace.account, 4)
                    let removal: JSON = [
                        "accountId": .string(ServedSpace.account), "destroy": [.string(ServedSpace.bobRow)],
                    ]
                    _ = try await here.call(ann, "optimist_member/set", removal)
                    try await ear.hear(ServedSpace.account, 5)
                    try await addList(here, 2, by: ann)
                    _ = try await here.call(bob, "Memo/set", ["create": [RowKey.id(1): ["text": "m"]]])
                    try await ear.hear(bob.account, 2)
                    #expect(ear.last[ServedSpace.account] == 5)
                }
            }
        }
    }
}
