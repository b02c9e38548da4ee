// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Programs with service keys.
@Suite(.timeLimit(.minutes(20)))
struct ServiceKeyTests {
    let site = Site()
    let book = LogBook()

    /// A program with a key.
    struct Program {
        let http: HTTPSide
        let id: String
        let text: String

        var device: String { "key\(id)" }

        func request(
            _ name: String, _ arguments: JSONObject, in account: String,
            using: [String] = [RowSync.core, RowSync.capability]
        ) -> [UInt8] {
            var arguments = arguments
            arguments["accountId"] = .string(account)
            return Request(using: using, methodCalls: [Invocation(name, arguments, callID: "0")]).json.bytes
        }

        /// Answers one call.
        func call(
            _ name: String, _ arguments: JSONObject, in account: String,
            using: [String] = [RowSync.core, RowSync.capability]
        ) async throws -> JSONObject {
            let answer = try await http.post(
                "/jmap", request(name, arguments, in: account, using: using), token: text)
            #expect(answer.status == 200, "\(answer.json)")
            return try #require(Response(json: answer.json)).methodResponses[0].arguments
        }

        func status(of name: String = "List/get", in account: String) async throws -> Int {
            try await http.post("/jmap", request(name, ["ids": .null], in: account), token: text).status
        }
    }

    func serving(
        change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (OptimistServer, HTTPSide) async throws -> Void
    ) async throws {
        let whole: (inout ServerConfiguration) -> Void = { configuration in
            configuration.logger = book.logger
            change(&configuration)
        }
        try await site.serving(schema: ServedSpace.schema, change: whole, body)
    }

    func make(
        _ server: OptimistServer, _ http: HTTPSide, _ name: String = "job", _ scope: ServiceKey.Scope = .write,
        types: [String]? = nil, accounts: [String]? = nil, spaces: [String]? = nil, days: Int? = nil
    ) async throws -> Program {
        let answer = try await server.carryOut(
            .key(
                .create(name: name, scope: scope, types: types, accounts: accounts, spaces: spaces, days: days)))
        return Program(
            http: http, id: try #require(answer["id"]?.string), text: try #require(answer["text"]?.string))
    }

    static let list = RowKey.list(1).id

    static func lists(_ number: Int, named name: String = "l", space: String? = nil) -> JSONObject {
        ["create": [RowKey.list(number).id: ["name": .string(name), "space": space.map(JSON.string) ?? .null]]]
    }

    /// The first refusal of a /set, or the method's error.
    func refusal(_ answer: JSONObject) -> String? {
        if let error = answer["type"]?.string { return error }
        let refused = ["notCreated", "notUpdated", "notDestroyed"].compactMap { answer[$0]?.object?.members.first }
        return refused.first?.value["type"]?.string
    }

    // MARK: - Keys

    @Test func `K1 the text of a key is shown once, and has 256 random bits after its prefix`() async throws {
        try await serving { server, http async throws in
            let (job, other) = (try await make(server, http), try await make(server, http, "other", .read))
            #expect(job.text.hasPrefix("optk_") && job.text != other.text)
            #expect(Base64URL.decode(String(job.text.dropFirst(5)))?.count == 32)
            let listed = try await server.carryOut(.key(.list))
            #expect(Set(listed["keys"]?.array?.compactMap { $0["name"]?.string } ?? []) == ["job", "other"])
            let admin = try await server.adminRoutes(nil).accounts.serviceKeys()
            for text in ["\(listed)", "\(admin)", "\(book.lines)"] {
                #expect(!text.contains(job.text) && !text.contains(String(job.text.dropFirst(5))))
                #expect(!text.contains("hash"))
            }
            #expect(book.events == ["service_key_made", "service_key_made"])
            let stored = try #require(try await server.storage.accounts.serviceKey(id: job.id)).key
            let json = try stored.json
            #expect(stored.hash == Data(SHA256.hash(job.text.utf8)) && !json.contains(job.text))
        }
    }

    @Test func `K1 a key that is wrong, revoked or expired opens nothing, and each refusal is in the security log`()
        async throws
    {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http, days: 2)
            #expect(try await job.status(in: ann.account) == 200)
            let first = job.text.dropFirst(5).first == "A" ? "B" : "A"
            let wrong = "optk_\(first)\(job.text.dropFirst(6))"
            for text in [wrong, "optk_", "optk_x", job.text + "x", ServiceKeySecret().text] {
                #expect(try await Program(http: http, id: "", text: text).status(in: ann.account) == 401)
            }
            site.advance(by: 2 * 86_400 - 1)
            #expect(try await job.status(in: ann.account) == 200)
            site.advance(by: 1)
            #expect(try await job.status(in: ann.account) == 401)
            let next = try await make(server, http)
            #expect(try await next.status(in: ann.account) == 200)
            _ = try await server.carryOut(.key(.revoke(key: "job")))
            #expect(try await next.status(in: ann.account) == 401)
            #expect(try await next.http.get("/service/accounts", token: next.text).status == 401)
            #expect(try await next.http.get("/jmap/session", token: next.text).status == 401)
            #expect(book.events.filter { $0 == "service_key_refused" }.count >= 8)
            #expect(book.events.contains("service_key_revoked"))
            #expect(!"\(book.lines)".contains(job.text))
        }
    }

    @Test func `K1 the last use of a key is noted, at most once a minute`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            func used() async throws -> Double? {
                try await server.storage.accounts.serviceKey(id: job.id)?.usedAt
            }
            #expect(try await used() == nil)
            _ = try await job.status(in: ann.account)
            let first = try #require(try await used())
            site.advance(by: 59)
            _ = try await job.status(in: ann.account)
            #expect(try await used() == first)
            site.advance(by: 1)
            _ = try await job.status(in: ann.account)
            #expect(try await used() == first + 60)
        }
    }

    @Test(.postgres) func `K1 N2 a key of one server is valid on another at once, and so is its revocation`()
        async throws
    {
        let (one, two) = (try await site.open(), try await site.open())
        let answer = try await one.carryOut(
            .key(.create(name: "job", scope: .read, types: nil, accounts: nil, spaces: nil, days: nil)))
        let text = try #require(answer["text"]?.string)
        #expect(try await two.registry.identify(serviceKey: text, Caller(address: "test")).name == "job")
        _ = try await one.carryOut(.key(.revoke(key: "job")))
        await #expect(throws: Unauthorized.self) {
            _ = try await two.registry.identify(serviceKey: text, Caller(address: "test"))
        }
        for server in [one, two] { server.storage.close() }
    }

    @Test func `K1 a key needs a name that no valid key has, and accounts, spaces and types that exist`()
        async throws
    {
        try await serving { server, http async throws in
            _ = try await make(server, http)
            func code(
                _ name: String, _ accounts: [String]?, _ spaces: [String]?, types: [String]? = nil
            ) async -> OptimistError.Code? {
                await #expect(throws: OptimistError.self) {
                    _ = try await make(server, http, name, types: types, accounts: accounts, spaces: spaces)
                }?.code
            }
            #expect(await code("job", nil, nil) == .badServiceKey)
            #expect(await code("", nil, nil) == .badServiceKey)
            #expect(await code("a\nb", nil, nil) == .badServiceKey)
            #expect(await code("other", ["a0"], nil) == .badServiceKey)
            #expect(await code("other", nil, ["no id"]) == .badServiceKey)
            #expect(await code("other", nil, [RowKey.id(0xFFF)]) == .badServiceKey)
            #expect(await code("other", nil, nil, types: []) == .badServiceKey)
            #expect(await code("other", nil, nil, types: ["List", "nope"]) == .badServiceKey)
            let twice = try await make(server, http, "twice", types: ["Todo", "optimist_member", "Todo"])
            let stored = try await server.storage.accounts.serviceKey(id: twice.id)
            #expect(stored?.key.types == ["Todo", "optimist_member"])
            _ = try await server.carryOut(.key(.revoke(key: "job")))
            _ = try await make(server, http)
        }
    }

    // MARK: - Rights

    @Test func `K2 a key opens only the accounts, spaces and types that it names, and the others look missing`()
        async throws
    {
        try await serving { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            _ = try await server.carryOut(
                .space(.create(space: ServedSpace.space, isPublic: false, owner: "a@example.org", name: "Ann")))
            let space = ServedSpace.account
            let all = try await make(server, http, "all")
            let some = try await make(server, http, "some", accounts: [ann.account], spaces: [])
            let shared = try await make(server, http, "shared", accounts: [], spaces: [ServedSpace.space])
            let lists = try await make(server, http, "lists", types: ["List"])
            let opens: [(Program, [String])] = [
                (all, [ann.account, bob.account, space]), (some, [ann.account]), (shared, [space]),
                (lists, [ann.account, bob.account, space]),
            ]
            for (number, (program, allowed)) in opens.enumerated() {
                for (place, account) in [ann.account, bob.account, space, "a0"].enumerated() {
                    let row = number * 10 + place + 1
                    let calls: [(String, JSONObject)] = [
                        ("List/get", ["ids": .null]), ("List/changes", ["sinceState": "e1.0", "inline": true]),
                        ("List/changes", ["inline": true, "snapshot": [:]]),
                        ("List/set", Self.lists(row, space: account == space ? ServedSpace.space : nil)),
                    ]
                    for (name, arguments) in calls {
                        let error = refusal(try await program.call(name, arguments, in: account))
                        let expected = allowed.contains(account) ? [nil, "forked"] : ["accountNotFound"]
                        #expect(expected.contains(error), "\(number) \(name) \(account): \(error ?? "-")")
                    }
                    let states: JSONObject = ["states": [account: "e1.0"]]
                    let changed = try await program.call("RowSync/changed", states, in: account)
                    #expect((changed["notFound"] == [.string(account)]) == !allowed.contains(account))
                    let session = try await http.get("/jmap/session?accountId=\(account)", token: program.text)
                    #expect((session.json["accounts"]?[account] != nil) == allowed.contains(account))
                }
            }
            for verb in ["get", "changes", "set"] {
                let arguments: JSONObject = ["ids": .null, "sinceState": "x"]
                #expect(refusal(try await lists.call("Memo/\(verb)", arguments, in: ann.account)) == "forbidden")
            }
            // A move needs both accounts.
            let copy: JSONObject = [
                "fromAccountId": .string(space), "onSuccessDestroyOriginal": true,
                "create": [Self.list: ["id": .string(Self.list), "space": .null]],
            ]
            #expect(refusal(try await some.call("List/copy", copy, in: ann.account)) == "accountNotFound")
        }
    }

    @Test func `K2 a key that may only read changes nothing, and no key changes members or invitations`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            _ = try await server.carryOut(
                .space(.create(space: ServedSpace.space, isPublic: true, owner: "a@example.org", name: "Ann")))
            let (reader, writer) = (
                try await make(server, http, "r", .read), try await make(server, http, "w")
            )
            for account in [ann.account, ServedSpace.account] {
                let lists = Self.lists(1, space: account == ann.account ? nil : ServedSpace.space)
                #expect(refusal(try await reader.call("List/set", lists, in: account)) == "accountReadOnly")
                #expect(refusal(try await writer.call("List/set", lists, in: account)) == nil)
                #expect(try await reader.call("List/get", ["ids": .null], in: account)["list"]?.array?.count == 1)
            }
            // The rules of spaces hold for programs.
            let stray = Self.lists(2, space: ServedSpace.space)
            #expect(refusal(try await writer.call("List/set", stray, in: ann.account)) == "crossesSpaces")
            let space = JSON.string(ServedSpace.space)
            let rows: [(String, JSONObject)] = [
                ("optimist_member", ["create": [RowKey.id(7): ["space": space, "name": "x", "role": "owner"]]]),
                (
                    "optimist_invitation",
                    [
                        "create": [
                            RowKey.id(8): [
                                "space": space, "role": "owner", "label": "x",
                                "hash": .string(ServedSpace.secret(1).hash),
                            ]
                        ]
                    ]
                ),
            ]
            for (type, arguments) in rows {
                let answer = try await writer.call("\(type)/set", arguments, in: ServedSpace.account)
                #expect(refusal(answer) == "roleForbids", "\(answer)")
            }
            // A program does not found a space.
            let new = try #require(SpaceAccount.id(ofSpace: RowKey.id(0xFFF)))
            let found: JSONObject = ["create": [RowKey.id(9): ["space": .string(RowKey.id(0xFFF)), "name": "x"]]]
            #expect(refusal(try await writer.call("optimist_member/set", found, in: new)) == "accountNotFound")
            let members = try await server.storage.rows.read(account: ServedSpace.account, as: .operator) {
                try $0.members().map(\.person)
            }
            #expect(members == [ann.account])
        }
    }
}
