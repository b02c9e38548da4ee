// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@_spi(Internals) @testable import Optimist

/// Opens copies of the files in Fixtures, which released versions of the engine wrote.
@Suite(.timeLimit(.minutes(20)))
struct ReleasedFormatTests {
    private static let folder = Bundle.module.resourceURL?.appending(path: "Fixtures")

    private func open(_ format: Int) throws -> Store {
        let released = try #require(Self.folder).appending(path: "format-\(format).sqlite")
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "planner.sqlite")
        try FileManager.default.copyItem(at: released, to: file)
        return try ReleasedPlanner.open(file)
    }

    private func stateView(_ store: Store) async throws -> String? {
        try await store.read {
            try String.fetchOne($0, sql: "SELECT sql FROM sqlite_master WHERE name = 'optimist_state'")
        }
    }

    private func text(_ number: Int) -> String { ReleasedPlanner.id(number).uuidString.lowercased() }

    private func contents(_ store: Store) async throws -> [Int: String] {
        try await store.read { db in
            let tasks = try ReleasedPlanner.Task.fetchAll(db)
            return Dictionary(uniqueKeysWithValues: tasks.map { (Int($0.id.uuid.15), $0.content) })
        }
    }

    @Test(arguments: 1...EngineSchema.version)
    func `L5 Q2 files of every released format have the current view of row states`(format: Int) async throws {
        let view = try #require(try await stateView(try Phone().store))
        #expect(try await stateView(try open(format)) == view)
    }

    private struct Interrupted: Error {}

    @Test func `L5 an older file runs all of its missing upgrade steps, or none`() throws {
        let db = try DatabaseQueue()
        let step: (Int) -> EngineSchema.Step = { number in
            { try $0.execute(sql: "ALTER TABLE optimist_wait ADD COLUMN step\(number)") }
        }
        func columns() throws -> [String] { try db.read { try $0.columns(in: "optimist_wait").map(\.name) } }
        func version() throws -> Int64? { try db.read { try Meta.int(.version, in: $0) } }
        try db.write { try EngineSchema.migrate($0, steps: [step(1)]) }
        #expect(try version() == 2)
        let new = try columns()
        #expect(!new.contains("step1"), "a new file has the current tables")
        #expect(throws: Interrupted.self) {
            try db.write { try EngineSchema.migrate($0, steps: [step(1), step(2), { _ in throw Interrupted() }]) }
        }
        #expect(try columns() == new)
        try db.write { try EngineSchema.migrate($0, steps: [step(1), step(2), step(3)]) }
        #expect(try columns() == new + ["step2", "step3"])
        #expect(try version() == 4)
    }

    /// The engine's tables: columns in order, uniqueness, AUTOINCREMENT, references, and the SQL of indexes and views.
    private func engineSchema(_ store: Store) async throws -> [String] {
        try await store.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT m.name || ': ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || quote(c.dflt_value) || ' '
                    || c.pk FROM sqlite_master m, pragma_table_info(m.name) c
                    WHERE m.type = 'table' AND m.name GLOB 'optimist_*'
                    UNION SELECT m.name || ': ' || t.wr || (m.sql LIKE '%AUTOINCREMENT%') || (m.sql LIKE '%REFERENCES%')
                    FROM sqlite_master m, pragma_table_list(m.name) t
                    WHERE m.type = 'table' AND m.name GLOB 'optimist_*'
                    UNION SELECT m.name || ': ' || i.origin || i."unique" || ' ' || k.seqno || ' ' || k.name
                    FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_info(i.name) k
                    WHERE m.type = 'table' AND m.name GLOB 'optimist_*'
                    UNION SELECT name || ': ' || replace(replace(sql, char(10), ' '), '    ', '') FROM sqlite_master
                    WHERE type IN ('index', 'view') AND name GLOB 'optimist_*' AND name NOT GLOB 'optimist_state_*'
                    """)
        }
    }

    @Test(arguments: 1...EngineSchema.version)
    func `L5 files of every released format are upgraded to the tables of a new file`(format: Int) async throws {
        let new = try await engineSchema(try Phone().store)
        #expect(new.count > 80)
        #expect(try await engineSchema(try open(format)).difference(from: new).isEmpty)
    }

    @Test(arguments: 1...EngineSchema.version)
    func `L5 files of every released format keep their content`(format: Int) async throws {
        let store = try open(format)
        #expect(
            try await contents(store) == [
                2: "synced", 3: "edited", 6: "lost to another", 7: "refused", 8: "sent, and edited since",
                9: "received", 11: "new",
            ])
        let outbox = try await store.pendingRows()
        #expect(outbox.map(\.rowID).sorted() == [text(3), text(4), text(8), text(11)])
        let rows = Dictionary(uniqueKeysWithValues: outbox.map { ($0.rowID, $0) })
        #expect(rows[text(3)]?.kind == .update)
        #expect(rows[text(3)].map { Set($0.columns.keys) } == ["priority", "due"])
        #expect(rows[text(4)]?.kind == .delete)
        #expect(rows[text(8)]?.isUnanswered == true)
        #expect(rows[text(11)]?.kind == .create)
        #expect(rows[text(11)]?.blockedBy == "project:\(text(98))")
        let rejections = try await store.rejections()
        #expect(rejections.map(\.rowID) == [text(7)])
        #expect(rejections.first?.mine == ["content": "refused, mine"])
        let counts = try await store.counts()
        #expect(counts.parked == 1)
        #expect(counts.lastSync != nil)
        #expect(try await store.savedWaits()[.pull]?.failures == 4)
        let journal = try await store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(journal == [#"{"priority":2}"#])
        let next = try await store.nextPull()
        #expect(next.cursor == ReleasedPlanner.cursor)
        await #expect(throws: (any Error).self) { try await store.bind(to: "another#2") }
    }

    @Test(arguments: 1...EngineSchema.version)
    func `L5 files of every released format can be inspected without being changed`(format: Int) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString).sqlite")
        let released = try #require(Self.folder).appending(path: "format-\(format).sqlite")
        try FileManager.default.copyItem(at: released, to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let inspection = try DatabaseInspection(of: file)
        #expect(inspection.version == format)
        #expect(inspection.pending.map(\.rowID).sorted() == [text(3), text(4), text(8), text(11)])
        #expect(inspection.rejections.map(\.rowID) == [text(7)])
        #expect(inspection.tables.first { $0.name == "task" }?.rows == 7)
        #expect(try Data(contentsOf: file) == Data(contentsOf: released))
    }

    @Test(arguments: 1...EngineSchema.version)
    func `L5 files of every released format can be edited, pushed and received into`(format: Int) async throws {
        let store = try open(format)
        try await store.write { db in
            try db.execute(
                sql: "UPDATE task SET content = 'edited again' WHERE id IN (?, ?)",
                arguments: [ReleasedPlanner.id(2), ReleasedPlanner.id(11)])
        }
        var pushed: [String: RemotePush.Row.Change] = [:]
        while let batch = try await store.nextPush(PushLimit()) {
            for row in batch.push.rows { pushed[row.id] = row.change }
            #expect(batch.push.number > 3, "push numbers continue")
            try await store.apply(batch.sent.map { _ in .accepted(seq: 8) }, of: batch)
        }
        #expect(Set(pushed.keys) == [text(2), text(3), text(4), text(8), text(11)])
        guard case .update(let second)? = pushed[text(2)], case .update(let third)? = pushed[text(3)],
            case .create(let last)? = pushed[text(11)]
        else {
            Issue.record("rows were pushed differently: \(pushed)")
            return
        }
        #expect(second.values == ["content": "edited again"])
        #expect(third.values["priority"] == 5 && third.values["due"] == .null)
        #expect(last.values["content"] == "edited again" && last.values["priority"] == 6)
        #expect(try await store.counts().pending == 0)

        let clocks = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: ReleasedPlanner.milliseconds + 5_000), device: "OtherPhone"))
        let parent = RowPatch(generation: 1, clocks: clocks, seq: 9, values: ["name": "the parent of 10"])
        #expect(
            try await store.apply(
                RemotePage(
                    from: ReleasedPlanner.cursor, cursor: "e1.9", hasMore: false,
                    rows: [RemotePage.Row(table: "project", id: text(99), content: .row(parent))]),
                to: ["project", "task"], initialCursor: "e1.0"))
        #expect(
            try await store.apply(
                RemotePage(from: "e1.9", cursor: "e1.10", hasMore: false, rows: []), to: ["project", "task"],
                initialCursor: "e1.0"))
        #expect(try await contents(store)[10] == "parked")
    }
}
