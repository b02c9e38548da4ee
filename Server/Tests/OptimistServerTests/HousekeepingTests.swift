// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistServing
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The server's background work, and its errors on a full disk.
@Suite(.timeLimit(.minutes(20)))
struct HousekeepingTests {
    private let site = Site()

    @Test func `L4: a running server purges deleted rows hourly, and announces for how long it keeps them`()
        async throws
    {
        try await site.serving(change: { $0.tombstoneDays = 5 }) { server, http async throws in
            let person = try await http.signUp()
            let session = try await http.get("/jmap/session", token: person.access)
            #expect(session.json["capabilities"]?[RowSync.capability]?["tombstoneDays"] == 5)
            _ = try await server.call(person, "todo/set", ["create": [RowKey.id(1): ["content": "a"]]])
            _ = try await server.call(person, "todo/set", ["destroy": [.string(RowKey.id(1))]])
            let arguments: JSON = ["sinceState": .string("\(server.epoch).1"), "inline": true]
            await site.clock.sleepers(atLeast: 1)
            site.advance(by: 7 * 86_400)
            site.clock.advance(by: Housekeeping.interval)
            // On PostgreSQL other tasks also sleep, so only the server's answers show the end of the sweep.
            while try await server.call(person, "todo/changes", arguments)["type"] != "cannotCalculateChanges" {
                try Task.checkCancellation()
            }
        }
    }

    @Test func `a running server removes only sessions that ended long ago`() async throws {
        try await site.serving(change: { $0.refreshTokenLifetime = .seconds(10 * 86_400) }) {
            _, http async throws in
            let person = try await http.signUp()
            func sessions() async throws -> Int {
                try await site.count(of: "optimist_sessions", account: person.account)
            }
            for days in [19.0, 2] {
                #expect(try await sessions() == 1)
                await site.clock.sleepers(atLeast: 1)
                site.advance(by: days * 86_400)
                site.clock.advance(by: Housekeeping.interval)
                await site.clock.sleepers(atLeast: 1)
            }
            #expect(try await sessions() == 0)
        }
    }

    @Test(.embedded) func `V4: a full disk is 503 with Retry-After, and the server continues`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            func push(_ size: Int) async throws -> HTTPSide.Answer {
                let call = Invocation(
                    "todo/set",
                    [
                        "accountId": .string(person.account),
                        "create": [RowKey.id(1): ["content": .string(String(repeating: "x", count: size))]],
                    ], callID: "0")
                return try await http.post("/jmap/", Request(methodCalls: [call]).json, token: person.access)
            }
            func room(_ pages: Int) async throws {
                try await server.database.pool.writeWithoutTransaction { db in
                    let count = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                    try db.execute(sql: "PRAGMA max_page_count = \(count + pages)")
                }
            }
            await site.untilHousekeepingRests()
            #expect(try await push(10).status == 200)
            try await room(1)
            let refused = try await push(60_000)
            #expect(refused.status == 503)
            #expect(refused.headers["retry-after"] == ["30"])
            #expect(refused.json["detail"]?.string?.contains("full") == true)
            #expect(try await http.get("/readyz").status == 200)
            #expect(try await server.rows(account: person.account, type: "todo").first?.seq == 1)
            try await room(1000)
            #expect(try await push(60_000).status == 200)
        }
    }

    @Test func `keys are durable, readable by the owner only, and stay the same`() throws {
        try site.makeDirectory()
        let file = site.directory.appending(path: "keys.json")
        // A crash may have left this.
        try Data("half".utf8).write(to: site.directory.appending(path: ".keys.json.new"))
        let first = try ServerKeys(directory: site.directory)
        #expect(try ServerKeys(directory: site.directory).refresh.bytes == first.refresh.bytes)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: site.directory.path) == ["keys.json"])
    }
}
