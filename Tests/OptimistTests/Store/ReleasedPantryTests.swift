// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import Optimist

/// Opens copies of the files `pantry-N.sqlite` in Fixtures, row by row.
@Suite(.timeLimit(.minutes(20)))
struct ReleasedPantryTests {
    private static let formats = 4..<EngineSchema.version

    private func open(_ format: Int) throws -> Store {
        let released = try #require(Bundle.module.resourceURL).appending(path: "Fixtures/pantry-\(format).sqlite")
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "pantry.sqlite")
        try FileManager.default.copyItem(at: released, to: file)
        let app = try DatabaseQueue(path: file.path)
        try app.write { db in
            try db.execute(sql: "CREATE VIEW unsent AS SELECT name, state FROM jar JOIN optimist_state_jar USING (id)")
        }
        try app.close()
        return try ReleasedPantry.open(file)
    }

    private func text(_ number: Int) -> String { ReleasedPantry.text(number) }

    @Test(arguments: formats)
    func `L5 L3 a file of each released format still has to send what the server lost`(format: Int) async throws {
        let store = try open(format)
        let rows = Dictionary(uniqueKeysWithValues: try await store.outbox().map { ($0.id, $0) })
        #expect(Set(rows.keys) == Set([11, 12, 13, 14, 15, 21, 23].map(text)))
        let kinds = rows.mapValues(\.kind)
        #expect(kinds[text(11)] == .create && kinds[text(12)] == .update && kinds[text(13)] == .delete)
        #expect(kinds[text(14)] == .delete && kinds[text(15)] == .create && kinds[text(21)] == .create)
        #expect(rows[text(11)].map { Set($0.columns.keys) } == ["shelf", "name", "grams"])
        #expect(rows[text(12)].map { Set($0.columns.keys) } == ["name", "grams"])
        #expect(rows[text(21)].map { Set($0.columns.keys) } == ["word", "colour"])
        #expect(rows[text(23)]?.waitReason == WaitReason("schemaTooNew", column: "colour"))
    }

    @Test(arguments: formats)
    func `L5 L3 M3 a file of each released format sends it with the clocks of its writers`(format: Int) async throws {
        let store = try open(format)
        let batch = try #require(try await store.nextPush(PushLimit()))
        let pushed = Dictionary(uniqueKeysWithValues: batch.push.rows.map { ($0.id, $0.change) })
        #expect(pushed.count == 7)
        let (me, theirs) = (batch.push.device, "OtherPhone")
        let rice = try #require(pushed[text(11)]?.created)
        #expect(rice.values["name"] == "Rice" && rice.values["shelf"] == .string(text(1)))
        #expect(rice.values["grams"] == ["@total": 20])
        #expect(rice.clocks?["name"]?.device == theirs && rice.clocks?["grams"]?.device == me)
        guard case .update(let salt)? = pushed[text(12)], case .delete(let oats)? = pushed[text(13)],
            case .delete(let flour)? = pushed[text(14)]
        else {
            Issue.record("rows are sent in another way: \(pushed)")
            return
        }
        #expect(salt.values == ["name": "Sea salt", "grams": ["@total": -7]])
        #expect(oats.generation == 2 && flour.generation == 2)
        #expect(try #require(flour.clock) < #require(oats.clock), "it was deleted before")
        let beans = try #require(pushed[text(15)]?.created)
        #expect(beans.values["name"] == "Beans" && beans.values["grams"] == ["@total": 30])
        let dry = try #require(pushed[text(21)]?.created)
        #expect(dry.values == ["word": "dry", "colour": "green"])
        #expect(dry.clocks?["word"]?.device == theirs && dry.clocks?["colour"]?.device == me)
        try await store.apply(batch.sent.map { _ in .accepted(seq: 20) }, of: batch)
        #expect(try await store.counts().pending == 0)
        #expect(
            try await store.read { try String.fetchSet($0, sql: "SELECT state FROM unsent") } == ["synced"],
            "a view of the app's over the states stays")
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_wait") } == 0)
    }

    @Test(arguments: formats)
    func `L5 R4 a file of each released format shows what it showed, and what waits is put in its time`(format: Int)
        async throws
    {
        let store = try open(format)
        let jars = try await store.read { try ReleasedPantry.Jar.order(Column("name")).fetchAll($0) }
        #expect(jars.map(\.name) == ["Beans", "Rice", "Sea salt"])
        #expect(jars.map(\.grams) == [30, 520, 93])
        let labels = try await store.read { try ReleasedPantry.Label.order(Column("word")).fetchAll($0) }
        #expect(labels.map(\.word) == ["dry", "spicy", "sweet"])
        #expect(labels.map(\.colour) == ["green", "black", "blue"])
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.rowID == text(24) && rejection.columns == ["word", "colour"])
        #expect(rejection.winner == text(25))
        let unknown = try await store.read { try String.fetchOne($0, sql: "SELECT row FROM optimist_unknown") }
        #expect(unknown?.contains("serif") == true)
        let waiting = Dictionary(uniqueKeysWithValues: try await store.waitingRows().map { ($0.id, $0) })
        #expect(waiting[text(1)]?.reason == .deletionTooSoon && waiting[text(1)]?.isDeletion == true)
        #expect(waiting[text(16)]?.reason == .missingParent(table: "shelf", id: text(3)))
        #expect(waiting[text(26)]?.reason == .valueTaken("UNIQUE constraint failed: label.word"))
        #expect(waiting.count == 3)
        let clocks = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: ReleasedPantry.milliseconds), device: "OtherPhone"))
        let shelf = RowPatch(generation: 1, clocks: clocks, seq: 14, values: ["name": "Middle"])
        let label = RowPatch(generation: 1, clocks: clocks, seq: 14, values: ["word": "sugary"])
        let page = RemotePage(
            from: "e2.13", cursor: "e2.14", hasMore: false,
            rows: [
                RemotePage.Row(table: "shelf", id: text(3), content: .row(shelf)),
                RemotePage.Row(table: "label", id: text(22), content: .row(label)),
            ])
        #expect(try await store.apply(page, to: ReleasedPantry.tables, initialCursor: "e2.0"))
        #expect(try await store.read { try ReleasedPantry.Jar.fetchOne($0, key: ReleasedPantry.id(16))?.name } == "Tea")
        #expect(
            try await store.read { try ReleasedPantry.Label.fetchOne($0, key: ReleasedPantry.id(26))?.word } == "sweet")
    }
}
