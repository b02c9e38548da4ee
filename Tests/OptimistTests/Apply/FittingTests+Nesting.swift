// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist

/// Deletions in a table whose rows refer to rows of the same table.
extension FittingTests {
    private struct Folder: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "folder"
        var id = UUID()
        var parent: UUID?
    }

    private func folder(_ id: UUID, in parent: UUID?, seq: Int64, generation: Int = 1) -> RemotePage.Row {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq * 1_000), device: "OtherPhone")
        let values: JSONObject = ["parent": parent.map { .string($0.uuidString.lowercased()) } ?? .null]
        return RemotePage.Row(
            table: "folder", id: id.uuidString.lowercased(),
            content: .row(
                RowPatch(generation: generation, clocks: ColumnClocks(common: clock), seq: seq, values: values)))
    }

    private func folders() throws -> Device {
        try Device([Folder.self]) { migrator in
            migrator.registerMigration("folder") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE folder(id BLOB PRIMARY KEY NOT NULL,
                        parent BLOB REFERENCES folder(id) ON DELETE CASCADE)
                        """)
            }
        }
    }

    @Test func `R2 a row parked below an unsent life is removed by the row's deletion in the same page`() async throws {
        let (store, top, middle, leaf) = (try folders().store, UUID(), UUID(), UUID())
        try await store.takeFolders([top, middle].map { folder($0, in: nil, seq: 1) }, from: 0, to: 1)
        try await store.write { db in
            try db.execute(sql: "DELETE FROM folder WHERE id = ?", arguments: [middle])
            try Folder(id: middle, parent: top).insert(db)
        }
        try await store.takeFolders([folder(leaf, in: middle, seq: 2)], from: 1, to: 2)
        try await store.takeFolders([leaf, top].map { .gone("folder", $0, seq: 3) }, from: 2, to: 3)
        #expect(try await store.read { try Folder.fetchCount($0) } == 0)
        #expect(try await store.counts().parked == 0)
    }

    /// Applies a page that deletes the top folder and moves the next life of the middle one into a folder that has not
    /// arrived yet.
    private func beginNextLife(of middle: UUID, in other: UUID, _ leaf: UUID, in leafParent: UUID, _ store: Store)
        async throws
    {
        let top = UUID()
        try await store.takeFolders(
            [folder(top, in: nil, seq: 1), folder(middle, in: top, seq: 1), folder(leaf, in: middle, seq: 1)], from: 0,
            to: 1)
        try await store.takeFolders(
            [
                .gone("folder", top, seq: 2), folder(middle, in: other, seq: 3, generation: 3),
                folder(leaf, in: leafParent, seq: 4),
            ], from: 1, to: 4)
    }

    @Test func `R2 a row below its parent's next life waits for that life and outlives the former parent`()
        async throws
    {
        let (store, other, middle, leaf) = (try folders().store, UUID(), UUID(), UUID())
        try await beginNextLife(of: middle, in: other, leaf, in: middle, store)
        #expect(try await store.read { try Folder.fetchCount($0) } == 0)
        #expect(try await store.counts().parked == 2)
        try await store.takeFolders([folder(other, in: nil, seq: 5)], from: 4, to: 5)
        #expect(try await store.read { try Folder.fetchCount($0) } == 3)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R4 a waiting row keeps the values it arrived with, whatever deletions the page has`() async throws {
        let (store, other, middle, leaf) = (try folders().store, UUID(), UUID(), UUID())
        try await beginNextLife(of: middle, in: other, leaf, in: other, store)
        #expect(try await store.counts().parked == 2)
        try await store.takeFolders([folder(other, in: nil, seq: 5)], from: 4, to: 5)
        #expect(try await store.read { try Folder.fetchOne($0, key: leaf)?.parent } == other)
        #expect(try await store.counts().parked == 0)
    }

    /// Writes a top folder with a middle folder in it, and then a leaf in the middle folder. The server refuses the top
    /// or the middle folder.
    ///
    /// - Returns: The batch that was sent; its last row is the leaf.
    private func refuse(
        _ refused: UUID, of top: UUID, _ middle: UUID, allOrNothing: Bool = false, leaf: UUID,
        _ leafVerdict: RemotePush.Verdict,
        in store: Store
    ) async throws -> PushBatch {
        try await store.write(allOrNothing: allOrNothing) { db in
            try Folder(id: top).insert(db)
            try Folder(id: middle, parent: top).insert(db)
        }
        try await store.write { try Folder(id: leaf, parent: middle).insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let verdicts = batch.push.rows.map { row -> RemotePush.Verdict in
            switch UUID(uuidString: row.id) {
            case refused: .rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
            case leaf: leafVerdict
            default: .groupFailed(by: ["folder:\(refused)"], current: nil)
            }
        }
        try await store.apply(verdicts, of: batch)
        #expect(try await store.read { try Folder.fetchCount($0) } == 0)
        return batch
    }

    @Test func `V5 M7 unsent rows below a group refused as a whole are in the journal`() async throws {
        let (store, top, middle, leaf) = (try folders().store, UUID(), UUID(), UUID())
        _ = try await refuse(
            middle, of: top, middle, allOrNothing: true, leaf: leaf, .retry(after: nil), in: store)
        #expect(try await store.conflicts().count == 1)
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `V5 an accepted row below a row refused with its parent waits for the server's row`() async throws {
        let (store, top, middle, leaf) = (try folders().store, UUID(), UUID(), UUID())
        // Another device has also created the middle folder.
        let batch = try await refuse(top, of: top, middle, leaf: leaf, .accepted(seq: 2), in: store)
        var echo = try #require(batch.push.rows.last?.change.created)
        echo.seq = 2
        let echoed = RemotePage.Row(table: "folder", id: leaf.uuidString.lowercased(), content: .row(echo))
        try await store.takeFolders([folder(middle, in: nil, seq: 1), echoed], from: 0, to: 2)
        #expect(try await store.read { try Folder.fetchCount($0) } == 2)
    }

    @Test func `R2 nested rows answered as gone are deleted when the page reports them`() async throws {
        let device = try folders()
        let (store, own, other, third) = (device.store, UUID(), UUID(), UUID())
        try await store.takeFolders(
            [folder(own, in: own, seq: 1), folder(other, in: third, seq: 1), folder(third, in: other, seq: 1)],
            from: 0, to: 1)
        try await store.write { try $0.execute(sql: "UPDATE folder SET parent = ?", arguments: [own]) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(batch.sent.map { _ in .gone(seq: 9) }, of: batch)
        try await store.takeFolders([own, other, third].map { .gone("folder", $0, seq: 5) }, from: 1, to: 9)
        #expect(try await store.read { try Folder.fetchCount($0) } == 0)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 a row that moves back to the server's place is deleted with that place`() async throws {
        let device = try folders()
        let store = device.store
        let (root, middle, leaf) = (UUID(), UUID(), UUID())
        try await store.takeFolders([root, middle].map { folder($0, in: nil, seq: 1) }, from: 0, to: 1)
        try await store.takeFolders([.gone("folder", middle, seq: 2)], from: 1, to: 2)
        try await store.write { try Folder(id: middle, parent: root).insert($0) }
        // The leaf comes after the middle folder in the table, because rows are examined in that order.
        try await store.takeFolders([folder(leaf, in: nil, seq: 3)], from: 2, to: 3)
        try await store.write { db in
            try db.execute(sql: "UPDATE folder SET parent = ? WHERE id = ?", arguments: [root, leaf])
        }
        try await store.takeFolders([folder(leaf, in: middle, seq: 4), .gone("folder", root, seq: 4)], from: 3, to: 4)
        #expect(try await store.read { try Folder.fetchCount($0) } == 0)
        try await store.takeFolders([folder(middle, in: nil, seq: 5, generation: 5)], from: 4, to: 5)
        #expect(try await store.read { try Folder.fetchOne($0, key: leaf)?.parent } == middle)
        #expect(try await store.counts().parked == 0)
    }
}

extension Store {
    fileprivate func takeFolders(_ rows: [RemotePage.Row], from: Int, to seq: Int) async throws {
        try await take(rows, from: from, to: seq, of: ["folder"])
    }
}
