// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct FirstSyncTests {
    private let backend = FakeBackend()

    init() {
        for shelf in 1...2 {
            backend.write("shelf", [id(shelf)], ["name": .string("Shelf \(shelf)")])
            backend.write(
                "book", (1...5).map { id(shelf * 10 + $0) },
                ["title": "A book", "shelfID": .string(id(shelf).uuidString.lowercased())])
        }
        backend.write("tag", (31...34).map(id), ["name": "novel"])
    }

    @Test func `R6 a first sync receives tables by priority, parents first, and then the later changes`()
        async throws
    {
        let reader = try Reader(backend)
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        // If the device's ids change, a part that was requested ahead is requested again, and so is the part before it.
        #expect(backend.requests.count { $0.hasPrefix("snapshot") } <= 7)
        let steps = backend.requests.filter { $0 != "push" }.reduce(into: [String]()) { steps, request in
            if !steps.contains(request) { steps.append(request) }
        }
        #expect(
            steps.prefix(6) == [
                "snapshot tag begin", "snapshot tag on", "snapshot shelf begin", "snapshot book begin",
                "snapshot book on", "pull tag shelf book",
            ])
    }

    @Test func `the lanes of one engine share one connection`() async throws {
        let reader = try Reader(backend)
        try await reader.store.write { try Tag(name: "mine").insert($0) }
        try await reader.sync()
        #expect(backend.requests.contains("push"))
        #expect(backend.settings.withLock { $0.connections } == 1)
    }

    @Test func `R6 a parent is as urgent as its most urgent child, and reference cycles are sorted`() {
        func layout(_ number: Int64, _ name: String, _ parents: Set<String>, priority: Int = 0) -> TableLayout {
            let columns = zip(Int64(1)..., parents.sorted()).map { bit, parent in
                TableLayout.Column(
                    name: parent, bit: bit, form: .reference(.bytes), isNullable: true,
                    reference: Reference(table: parent, onDelete: .restrict))
            }
            return TableLayout(
                number: number, name: name, idForm: .bytes, columns: columns, rules: SyncRules(priority: priority))
        }
        let tables = [
            layout(1, "photo", ["album"], priority: 9), layout(2, "note", [], priority: 3), layout(3, "album", []),
            layout(4, "a", ["b", "a"]), layout(5, "b", ["a", "elsewhere"]),
        ]
        #expect(SnapshotOrder.sorted(tables).map(\.name) == ["album", "photo", "note", "b", "a"])
    }

    /// The device is killed after each request in turn. Other devices and this one write in between.
    @Test func `R6 a first sync killed at any point resumes without duplicates`() async throws {
        let reader = try Reader(backend)
        var previous = 0
        for run in 0..<40 {
            try await reader.syncKilled(run: run)
            let rows = try await reader.store.tableProgress().reduce(0) { $0 + $1.received }
            #expect(rows >= previous, "progress does not decrease")
            previous = rows
            switch run {
            case 2: backend.write("tag", [id(31)], nil)
            case 3: backend.write("tag", [id(30), id(35)], ["name": "late"])
            case 5: backend.write("book", [id(11), id(25)], ["title": "Changed"], at: 1_790_000_060_000)
            case 6: try await reader.write("INSERT INTO shelf VALUES (?, 'mine')", [id(9)])
            case 7: backend.write("book", [id(12)], nil)
            default: break
            }
        }
        backend.settings.withLock { $0.answers = .max }
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        #expect(try await reader.store.counts().parked == 0)
        #expect(backend.rows("shelf").count == 3)
        #expect(
            backend.requests.filter { $0 == "snapshot tag begin" }.count <= 3, "an answered part is not requested again"
        )
    }

    @Test func `R6 progress never decreases and is complete at the end of the first sync`() async throws {
        let reader = try Reader(backend)
        #expect(try await !SyncEngine(store: reader.store, remote: backend).statuses.current().isComplete)
        let engine = reader.start()
        var seen: [SyncStatus] = []
        for await status in engine.statuses {
            seen.append(status)
            if status.isComplete { break }
        }
        await reader.stop()
        let progress = seen.compactMap(\.progress)
        #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.rows <= $1.rows }, "\(seen)")
        let fractions = progress.compactMap(\.fraction)
        #expect(zip(fractions, fractions.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(fractions.allSatisfy { (0...1).contains($0) })
        #expect(try await reader.isEqualToBackend())
        try reader.reopen()
        #expect(try await SyncEngine(store: reader.store, remote: backend).statuses.current().isComplete)
    }

    @Test func `R6 the app can read and write received rows during a first sync`() async throws {
        let reader = try Reader(backend)
        backend.settings.withLock { $0.answers = 4 }
        reader.start()
        try await reader.until { try await $0.tableProgress().contains { $0.table == "book" && $0.place != nil } }
        try await reader.write("UPDATE book SET title = 'Mine' WHERE id = ?", [id(11)])
        #expect(try await reader.rows("book").count == 3)
        backend.settings.withLock { $0.answers = .max }
        reader.clock.advance(by: .seconds(120))
        try await reader.untilSettled()
        await reader.stop()
        #expect(backend.rows("book")[id(11).uuidString.lowercased()]?["title"] == "Mine")
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `R6 a table added by a migration has a first sync while the other tables continue`() async throws {
        let reader = try Reader(backend, hasTags: false)
        try await reader.sync()
        let before = backend.requests.count
        backend.write("tag", (40...60).map(id), ["name": "many"])
        backend.write("shelf", [id(3)], ["name": "New"])
        try reader.reopen(hasTags: true)
        reader.start()
        try await reader.until { try await $0.tableProgress().contains { $0.table == "tag" && $0.cursor != nil } }
        try await reader.untilSettled()
        await reader.stop()
        let requests = backend.requests.dropFirst(before).filter { $0 != "push" }
        #expect(requests.first == "snapshot tag begin")
        // The next part of the snapshot may be requested before the pull.
        #expect(requests.prefix(3).contains("pull shelf book"))
        #expect(!requests.contains("snapshot book begin"))
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `R6 a remote without snapshots is pulled from its first cursor`() async throws {
        backend.settings.withLock { $0.hasSnapshots = false }
        let reader = try Reader(backend)
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        #expect(backend.requests.filter { $0.hasPrefix("snapshot") }.count == 1)
    }

    @Test func `R6 a table that the remote does not keep holds up no other table`() async throws {
        backend.settings.withLock { $0.tables = ["book", "shelf"] }
        let reader = try Reader(backend)
        let engine = reader.start()
        try await reader.untilSettled()
        #expect(try await engine.statuses.current().isComplete)
        await reader.stop()
        #expect(!backend.requests.contains { $0.contains("tag") })
        backend.settings.withLock { $0.tables = nil }
        reader.start()
        try await reader.until { try await $0.read { try Tag.fetchCount($0) } == 4 }
        await reader.stop()
    }

    /// Another device deleted the row before its table was received: no snapshot shows the deletion, nor whether that
    /// device had read the row.
    @Test(arguments: [true, false])
    func
        `R6 M7 a row sent and deleted before the first snapshot is only in the journal, whenever its answer arrives`(
            isAnsweredFirst: Bool
        ) async throws
    {
        let phone = try Phone()
        let (gone, edited) = (Todo(content: "Gone"), Todo(content: "Edited"))
        try await phone.store.write { db in
            try gone.insert(db)
            try edited.insert(db)
        }
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        try await phone.store.write { try $0.execute(sql: "UPDATE todo SET done = 1 WHERE content = 'Edited'") }
        let answers = batch.sent.map { _ in RemotePush.Verdict.accepted(seq: 3) }
        if isAnsweredFirst { try await phone.store.apply(answers, of: batch) }
        let asked = RemoteSnapshot.Request(table: "todo", at: nil, after: nil, limit: 100)
        #expect(try await phone.store.apply(RemoteSnapshot(at: "e1.5", rows: [], next: nil), of: asked))
        #expect(
            try await phone.store.apply(
                RemotePage(from: "e1.5", cursor: "e1.5", hasMore: false, rows: []), to: ["todo"], initialCursor: ""))
        if isAnsweredFirst {
            try await phone.store.settleUnseen(.remove)
        } else {
            try await phone.store.apply(answers, of: batch)
        }
        #expect(try await phone.store.todos().map(\.content) == ["Edited"])
        let journal = try await phone.store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(journal.count == 1 && journal[0].contains("Gone"))
        let again = try #require(try await phone.store.nextPush(PushLimit()))
        #expect(again.sent.map(\.kind) == [.create])
    }

    /// 47 rows take two statements of twenty entries and a remainder. One row may wait for its shelf.
    @Test(arguments: [nil, 1, 20, 27, 47])
    func `R6 R4 a snapshot stores the same entries with or without a misfit`(misfit: Int?)
        async throws
    {
        let store = try Reader(backend).store
        func row(_ table: String, _ number: Int, _ values: JSONObject) -> RemotePage.Row {
            let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + Int64(number)), device: "OtherPhone")
            return RemotePage.Row(
                table: table, id: id(number).uuidString.lowercased(),
                content: .row(RowPatch(clocks: ColumnClocks(common: clock), seq: Int64(number), values: values)))
        }
        func entries(of store: Store) async throws -> [String] {
            try await store.read { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT r.*, EXISTS (SELECT 1 FROM optimist_edit e WHERE e.id = r.id) FROM optimist_remote r
                        WHERE id IN (SELECT id FROM book) ORDER BY seq
                        """
                ).map(\.description)
            }
        }
        let books = (1...47).map { number in
            row(
                "book", number,
                ["shelfID": number == misfit ? .string(id(50).uuidString.lowercased()) : .null, "title": "A book"])
        }
        try await store.apply { _ = try store.receive(books, PageContext(hasMore: true), until: { false }, in: $0) }
        #expect(try await store.read { try Book.fetchCount($0) } == (misfit == nil ? 47 : 46))
        let shelf = row("shelf", 50, ["name": "Shelf"])
        try await store.apply { _ = try store.receive([shelf], PageContext(), in: $0) }
        #expect(try await store.read { try Book.fetchCount($0) } == 47)
        let whole = try Reader(backend).store
        try await whole.apply { _ = try whole.receive([shelf] + books, PageContext(), in: $0) }
        #expect(try await entries(of: store) == entries(of: whole))
        #expect(try await entries(of: store).count == 47)
    }

    @Test(arguments: [true, false])
    func `R6 a part of a snapshot ends early while a write of the app waits`(isAwaited: Bool)
        async throws
    {
        let desk = try Desk()
        let rows = (0..<100).map { RemotePage.Row.step(Step(text: "\($0)"), seq: 5) }
        let store = desk.store
        let count = try await store.apply {
            try store.receive(rows, PageContext(hasMore: true), until: { isAwaited }, in: $0)
        }
        #expect(count == (isAwaited ? 20 : 100))
        #expect(try await store.steps().count == count)
    }

    @Test func `R6 a snapshot that makes no progress is refused`() async throws {
        let reader = try Reader(backend)
        let asked = RemoteSnapshot.Request(table: "tag", at: "e1.5", after: id(5).uuidString.lowercased(), limit: 3)
        await #expect(throws: RemoteFailure.self) {
            _ = try await reader.store.apply(
                RemoteSnapshot(at: "e1.5", rows: [], next: id(5).uuidString.lowercased()), of: asked)
        }
    }
}
