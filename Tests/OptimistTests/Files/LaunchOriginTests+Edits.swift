// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

/// Edits that the user undoes in a restored file, although the server may have them.
extension LaunchOriginTests {
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
