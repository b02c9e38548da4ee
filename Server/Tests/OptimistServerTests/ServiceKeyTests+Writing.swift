// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// Rows that programs write.
extension ServiceKeyTests {
    @Test func `K4 a program's writes merge like a device's, under its own device, and are poked to the person`()
        async throws
    {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            let mine: JSON = [
                "create": [Self.list: ["name": "mine", "@hlc": .string(WriteClock.at(0).description)]]
            ]
            _ = try await server.call(ann, [("List/set", mine)], push: 1)
            var heard = false
            try await http.events(token: ann.access) { _, data in
                let state = data["changed"]?[ann.account]?["List"]?.string
                if state?.hasSuffix(".2") == true {
                    heard = true
                    return true
                }
                site.advance(by: 1)
                let update: JSONObject = ["update": [Self.list: ["name": "theirs"]]]
                let answer = try await job.call("List/set", update, in: ann.account)
                #expect(refusal(answer) == nil)
                await site.sleepers(atLeast: 1)
                site.clock.advance(by: .milliseconds(50))
                return false
            }
            #expect(heard)
            func row() async throws -> JSON? {
                try await server.call(ann, "List/get", ["ids": .null])["list"]?.array?.first
            }
            #expect(try await row()?["name"] == "theirs")
            let shown = try await row()
            #expect("\(shown ?? .null)".contains(job.device))
            // A device's later edit wins, and an earlier one loses.
            for (milliseconds, name) in [(500, "earlier"), (2_000, "later")] {
                let edit: JSON = [
                    "update": [
                        Self.list: [
                            "name": .string(name), "@hlc": .string(WriteClock.at(Int64(milliseconds)).description),
                            "@gen": 1,
                        ]
                    ]
                ]
                _ = try await server.call(ann, [("List/set", edit)], push: Int64(milliseconds))
                #expect(try await row()?["name"] == (name == "later" ? "later" : "theirs"))
            }
        }
    }

    @Test func `K4 the app's hook sees which program or person writes, and its refusal holds for both`() async throws {
        let seen = Mutex<[Writer]>([])
        let hook = GroupHook(deadline: .seconds(600)) { group in
            seen.withLock { $0.append(group.writer) }
            guard group.rows.contains(where: { $0.after?["name"] == "no" }) else { return [] }
            throw RowFault("noNo", "This name is refused.")
        }
        try await serving(change: { $0.hook = hook }) { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            _ = try await server.call(ann, "List/set", .object(Self.lists(1)))
            #expect(refusal(try await job.call("List/set", Self.lists(2), in: ann.account)) == nil)
            let refused = try await job.call("List/set", Self.lists(3, named: "no"), in: ann.account)
            #expect(refusal(refused) == "forbidden")
            #expect(
                seen.withLock(\.self) == [.person(ann.account), .serviceKey(job.id), .serviceKey(job.id)])
        }
    }

    @Test func `G5 a report names the last writer of each row: a person, a program or the server`() async throws {
        try await serving { server, http async throws in
            let (ann, space) = (try await http.signUp(), ServedSpace.account)
            let job = try await make(server, http)
            func writers(_ account: String) async throws -> [Writer] {
                try await server.storage.rows.read(account: account, as: .operator) {
                    try $0.transactions(after: 0, by: SpaceTypes().added(to: ServedSpace.schema), limit: 100)
                        .transactions
                }.flatMap(\.rows).map(\.writer)
            }
            _ = try await server.carryOut(
                .space(.create(space: ServedSpace.space, isPublic: false, owner: "a@example.org", name: "Ann")))
            let shared: JSON = [
                "accountId": .string(space), "create": [Self.list: ServedSpace.list(ServedSpace.space)],
            ]
            _ = try await server.call(ann, [("List/set", shared), ("List/set", .object(Self.lists(2)))])
            #expect(try await writers(space) == [.server, .person(ann.account)])
            #expect(try await writers(ann.account) == [.person(ann.account)])
            let update: JSONObject = ["update": [RowKey.list(2).id: ["name": "n"]]]
            #expect(refusal(try await job.call("List/set", update, in: ann.account)) == nil)
            #expect(refusal(try await job.call("List/set", ["destroy": [.string(Self.list)]], in: space)) == nil)
            let latest = try await writers(space)
            #expect(latest == [.server, .serviceKey(job.id)])
            #expect(try await writers(ann.account) == [.serviceKey(job.id)])
            _ = try await server.call(ann, "List/set", ["update": [RowKey.list(2).id: ["name": "m"]]])
            #expect(try await writers(ann.account) == [.person(ann.account)])
        }
    }

    @Test func `K4 a plain JMAP client with a key reads and writes, and ifInState keeps unread edits`()
        async throws
    {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http, accounts: [ann.account])
            let core = [RowSync.core]
            let session = try await http.get("/.well-known/jmap", token: job.text).json
            #expect(session["accounts"]?.object?.members.map(\.key) == [ann.account])
            #expect(session["username"] == "job")
            let made = try await job.call("List/set", Self.lists(1, named: "one"), in: ann.account, using: core)
            let state = try #require(made["newState"])
            let update: JSONObject = ["ifInState": state, "update": [Self.list: ["name": "two"]]]
            #expect(refusal(try await job.call("List/set", update, in: ann.account, using: core)) == nil)
            #expect(refusal(try await job.call("List/set", update, in: ann.account, using: core)) == "stateMismatch")
            let read = try await job.call("List/get", ["ids": .null], in: ann.account, using: core)
            #expect(read["list"] == [["id": .string(Self.list), "name": "two", "space": .null]])
            let changes = try await job.call("List/changes", ["sinceState": state], in: ann.account, using: core)
            #expect(changes["updated"] == [.string(Self.list)])
        }
    }
}
