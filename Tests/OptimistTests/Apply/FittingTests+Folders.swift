// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

private struct Folder: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "folder"
    var id = UUID()
    var parent: UUID?
    var name: String?
}

extension FittingTests {
    static let deferrals = ["", " DEFERRABLE INITIALLY DEFERRED"]

    private static let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000), device: "OtherPhone")

    private func folderDevice(deferral: String = "") throws -> Device {
        try Device([Folder.self]) { migrator in
            migrator.registerMigration("folder") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE folder(id BLOB PRIMARY KEY NOT NULL,
                        parent BLOB REFERENCES folder(id) ON DELETE CASCADE\(deferral), name TEXT);
                        CREATE INDEX folder_parent ON folder(parent);
                        """)
            }
        }
    }

    private func folder(_ id: String, in parent: String?, seq: Int64 = 1) -> RemotePage.Row {
        let values: JSONObject = ["parent": parent.map(JSON.string) ?? .null]
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
        return RemotePage.Row(
            table: "folder", id: id,
            content: .row(RowPatch(generation: 1, clocks: ColumnClocks(common: clock), seq: seq, values: values)))
    }

    private func gone(_ id: String) -> RemotePage.Row {
        RemotePage.Row(table: "folder", id: id, content: .deleted(Tombstone(generation: 2, clock: Self.clock, seq: 2)))
    }

    /// Applies one page of a sequence.
    private func take(_ rows: [RemotePage.Row], after index: Int, hasMore: Bool = false, on store: Store) async throws {
        try await store.take(rows, from: index, to: index + 1, hasMore: hasMore, of: ["folder"])
    }

    /// The folder has moved and waits for its new parent.
    /// - Parameter fits: Whether the last page fits at once.
    @Test(arguments: [true, false])
    func `R2 R4 rows below a moved row are not deleted with its former parent`(fits: Bool)
        async throws
    {
        let device = try folderDevice()
        let ids = (0..<4).map { String(format: "00000000-0000-4000-8000-%012d", $0) }
        let pages = [
            [folder(ids[0], in: nil), folder(ids[1], in: ids[0]), folder(ids[2], in: ids[1])],
            [folder(ids[1], in: ids[3], seq: 2)],
            [folder(ids[3], in: nil, seq: 2), gone(ids[0])]
                + (fits ? [] : [folder(UUID().uuidString.lowercased(), in: UUID().uuidString.lowercased())]),
        ]
        for (index, rows) in pages.enumerated() {
            try await take(rows, after: index, hasMore: index == 1, on: device.store)
            if index == 0 { try await device.execute("UPDATE folder SET name = 'Mine' WHERE parent IS NOT NULL") }
        }
        #expect(try await device.store.counts().parked == (fits ? 0 : 1))
        #expect(try await device.next()?.sent.map(\.kind) == [.update, .update], "nobody's edit is lost")
        let folders = try await device.store.read { try Folder.order(Column("id")).fetchAll($0) }
        #expect(folders.map(\.id.uuidString) == Array(ids[1...]))
        #expect(folders.map(\.parent?.uuidString) == [ids[3], ids[1], nil])
        #expect(folders.map(\.name) == ["Mine", "Mine", nil])
    }

    @Test func `R2 R4 rows below a moved row wait with it for its new parent`() async throws {
        let device = try folderDevice()
        let ids = (0..<4).map { String(format: "00000000-0000-4000-8000-%012d", $0) }
        let pages = [
            [folder(ids[0], in: nil), folder(ids[1], in: ids[0]), folder(ids[2], in: ids[1])],
            [folder(ids[1], in: ids[3], seq: 2)], [gone(ids[0])],
            [folder(ids[3], in: nil, seq: 3)],
        ]
        for (index, rows) in pages.enumerated() {
            try await take(rows, after: index, on: device.store)
            #expect(try await device.store.counts().parked == [0, 1, 2, 0][index])
        }
        let folders = try await device.store.read { try Folder.order(Column("id")).fetchAll($0) }
        #expect(folders.map(\.parent?.uuidString) == [ids[3], ids[1], nil])
    }

    @Test func `R4 a deletion that cascades over more levels than SQLite allows is applied`() async throws {
        let device = try folderDevice()
        let folders = (0..<1_100).map { _ in UUID().uuidString.lowercased() }
        let rows = folders.indices.map { folder(folders[$0], in: $0 == 0 ? nil : folders[$0 - 1]) }
        let deletions = folders.map(gone)
        let store = device.store
        for (index, rows) in [rows, deletions].enumerated() {
            try await take(rows, after: index, on: store)
            let count = try await store.read { try Folder.fetchCount($0) }
            #expect(count == (index == 0 ? 1_100 : 0))
        }
        #expect(try await store.counts().parked == 0)
    }

    @Test(arguments: deferrals)
    func `R4 children that precede their parents in a snapshot fit, and only orphans are parked`(
        deferral: String
    ) async throws {
        let store = try folderDevice(deferral: deferral).store
        let ids = (0..<100).map { String(format: "00000000-0000-4000-8000-%012d", $0) }
        // The first 45 are roots. Each of the others is in the next folder, except for two whose folders do not exist.
        let rows = ids.indices.map { index in
            switch index {
            case 30, 70: folder(ids[index], in: ids[index].replacing("00000000-0000", with: "ffffffff-0000"))
            case 45...: folder(ids[index], in: index == 99 ? nil : ids[index + 1])
            default: folder(ids[index], in: nil)
            }
        }
        #expect(
            try await store.apply(
                RemoteSnapshot(at: "e1.1", rows: rows, next: nil),
                of: RemoteSnapshot.Request(table: "folder", at: nil, after: nil, limit: 100)))
        let (count, known, broken) = try await store.read { db in
            (
                try Folder.fetchCount(db), try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_remote"),
                try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").count
            )
        }
        // 25 more are below the 71st.
        #expect(count == 100 - 2 - 25)
        #expect(known == count)
        #expect(broken == 0)
        #expect(try await store.counts().parked == 2 + 25)
    }

    @Test func `L3 V5 a restored row below a refused row goes to the journal and does not return alone`()
        async throws
    {
        let device = try folderDevice()
        let store = device.store
        let ids = (0..<3).map { String(format: "00000000-0000-4000-8000-%012d", $0) }
        try await take([folder(ids[0], in: nil), folder(ids[1], in: ids[0])], after: 0, on: store)
        try await take([folder(ids[0], in: nil, seq: 2), folder(ids[2], in: ids[1], seq: 2)], after: 1, on: store)
        try await device.execute("UPDATE folder SET name = 'n' WHERE hex(id) NOT LIKE '%2'")
        try await store.rewind(["folder"], at: "e1.2", to: [("e1", 0), ("e2", 1)].map(RemoteEpoch.init))
        let batch = try #require(try await device.next())
        let refusal = RemotePush.Verdict.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        try await store.apply(
            batch.push.rows.map { $0.id == ids[0] ? refusal : .groupFailed(by: [], current: nil) }, of: batch)
        #expect(try await device.rows("folder").isEmpty)
        let kept = try await store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(kept.contains { $0.contains(ids[1]) }, "the journal has the folder's former place")
        #expect(try await store.counts().parked == 1, "a row that the server still has waits for its parent")
        #expect(
            try await store.tableProgress().map(\.awaitsSnapshot) == [true],
            "another device may have sent the other row")
        let asked = RemoteSnapshot.Request(table: "folder", at: nil, after: nil, limit: 100)
        let rows = [folder(ids[0], in: nil, seq: 4), folder(ids[1], in: ids[0])]
        #expect(try await store.apply(RemoteSnapshot(at: "e2.4", rows: rows, next: nil), of: asked))
        try await store.settleUnseen(.remove)
        #expect(try await Set(device.rows("folder").keys) == Set(ids.prefix(2)))
        #expect(try await store.counts().pending == 0)
    }

    /// The user moved a folder into a new one and deleted its former parent. The server refuses the new folder.
    @Test(arguments: deferrals)
    func `V3 V5 a later edit below a row that moves back stays unsent`(deferral: String) async throws {
        let device = try folderDevice(deferral: deferral)
        let store = device.store
        let ids = (0..<3).map { String(format: "00000000-0000-4000-8000-%012d", $0) }
        try await take(ids.indices.map { folder(ids[$0], in: $0 == 0 ? nil : ids[$0 - 1]) }, after: 0, on: store)
        try await store.write { db in
            let new = Folder(name: "New")
            try new.insert(db)
            let folders = try Folder.order(Column("id")).fetchAll(db).filter { $0.id != new.id }
            try db.execute(sql: "UPDATE folder SET parent = ? WHERE id = ?", arguments: [new.id, folders[1].id])
            try db.execute(sql: "DELETE FROM folder WHERE id = ?", arguments: [folders[0].id])
        }
        try await device.execute("UPDATE folder SET name = 'Mine' WHERE hex(id) LIKE '%2'")
        let batch = try #require(try await device.next())
        let current = try #require(folder(ids[0], in: nil).patch)
        try await store.apply(
            batch.push.rows.map { row in
                if case .create = row.change { return .rejected(RemotePush.Refusal(code: "forbidden", message: "No.")) }
                return row.id == ids[2]
                    ? .retry(after: nil) : .groupFailed(by: [], current: row.id == ids[0] ? current : nil)
            }, of: batch)
        let folders = try await store.read { try Folder.order(Column("id")).fetchAll($0) }
        #expect(folders.map(\.parent?.uuidString) == [nil, ids[0], ids[1]])
        #expect(folders.map(\.name) == [nil, nil, "Mine"])
        #expect(try await store.counts().pending == 1)
        #expect(try await store.conflicts().isEmpty)
    }
}
