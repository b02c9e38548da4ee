// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct FullTextTests {
    private let server = AppServer()

    private func device() throws -> Device {
        try Device([Photo.self]) { migrator in
            Photo.migrate(&migrator)
            migrator.registerMigration("search") { db in
                try db.create(virtualTable: "photoText", using: FTS5()) { t in
                    t.synchronize(withTable: "photo")
                    t.column("title")
                }
            }
        }
    }

    private func titles(_ word: String, on device: Device) async throws -> [String] {
        try await device.store.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT photo.title FROM photo JOIN photoText ON photoText.rowid = photo.rowid
                    WHERE photoText MATCH ? ORDER BY photo.title
                    """, arguments: [word])
        }
    }

    @Test func `R3 a full-text index follows received rows and is not sent`() async throws {
        let (one, other) = (try device(), try device())
        let (lake, tower) = (Photo(title: "Lake in the morning"), Photo(title: "Tower"))
        try await one.store.write { db in
            try lake.insert(db)
            try tower.insert(db)
        }
        #expect(try await titles("lake", on: one) == ["Lake in the morning"])
        #expect(try await one.store.counts().pending == 2)
        try await one.sync(with: server)
        try await other.sync(with: server)
        #expect(try await titles("lake", on: other) == ["Lake in the morning"])
        #expect(try await other.store.counts().pending == 0)

        try await one.store.write { db in
            try db.execute(sql: "UPDATE photo SET title = 'Sea' WHERE id = ?", arguments: [lake.id])
            _ = try tower.delete(db)
        }
        try await one.sync(with: server)
        try await other.sync(with: server)
        #expect(try await titles("lake OR tower", on: other) == [])
        #expect(try await titles("sea", on: other) == ["Sea"])
        #expect(server.rows("photo").count == 1)
    }
}
