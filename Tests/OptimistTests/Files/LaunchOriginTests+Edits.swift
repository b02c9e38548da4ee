// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist

/// Edits that the user undoes in a restored file, although the server may have them.
extension LaunchOriginTests {
    @Test func `L3 a launch asks about the person's account and all spaces, at most eight accounts in a request`()
        async throws
    {
        try await begin()
        try relaunch(phone)
        let spaces = (0..<9).map { _ in UUID() }
        try await phone.store.apply { db in
            for space in spaces {
                try db.execute(sql: "INSERT INTO optimist_scope(space) VALUES (?)", arguments: [space])
            }
        }
        let checks = try await phone.store.rewindChecks()
        #expect(checks.map(\.spaces.count) == [7, 2])
        #expect(checks.flatMap(\.spaces) == spaces.map { $0.uuidString.lowercased() })
        #expect(checks.allSatisfy { $0.number == 1 && $0.rows.isEmpty })
        let calls = PushCall(checks[1], account: "a1", schemaVersion: 1).request.methodCalls
        #expect(calls.map { $0.arguments["accountId"]?.string?.first } == ["a", "s", "s"])
        #expect(calls.allSatisfy { $0.arguments.count == 1 })
    }

    @Test(arguments: [true, false])
    func `L3 W3 undoing an edit in a restored file undoes it on the server`(isAsked: Bool)
        async throws
    {
        try await begin()
        phone.advance(60_000)
        try await phone.execute("UPDATE photo SET title = 'Sea'")
        let restored = try copy()
        try await phone.sync(with: server)
        restored.advance(120_000)
        if isAsked { try await restored.store.renewDeviceID() }
        try await restored.execute("UPDATE photo SET title = 'Lake'")
        try await expect(0, on: [restored])
        #expect(server.rows("photo").values.first?["title"] == "Lake")
        #expect(try await restored.store.read { try String.fetchOne($0, sql: "SELECT title FROM photo") } == "Lake")
    }

    @Test func `L3 W3 a row deleted in a restored file is deleted on the server`() async throws {
        try await phone.store.write { [photo] in try photo.insert($0) }
        let restored = try copy()
        try await phone.sync(with: server)
        restored.advance(120_000)
        try await restored.execute("DELETE FROM photo")
        for _ in 0..<2 { try await restored.sync(with: server) }
        #expect(server.rows("photo").isEmpty)
        #expect(try await restored.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM photo") } == 0)
        #expect(try await restored.store.counts().pending == 0)
    }
}
