// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Remotes with few guarantees: opaque cursors that look like the server's, pages without the device's pushes, no
/// snapshots.
@Suite(.timeLimit(.minutes(20)))
struct GuaranteeTests {
    private let backend = FakeBackend()

    private func promise(
        _ guarantees: RemoteGuarantees = RemoteGuarantees(), leavesOutPushes: Bool = false, hasSnapshots: Bool = true
    ) {
        backend.settings.withLock {
            $0.hasOpaqueCursors = !guarantees.hasOrderedCursors
            $0.guarantees = guarantees
            $0.leavesOutPushes = leavesOutPushes
            $0.hasSnapshots = hasSnapshots
        }
    }

    private func titles(_ reader: Reader) async throws -> [String] {
        try await reader.rows("book").values.compactMap { $0["title"]?.string }.sorted()
    }

    @Test func `R6 tables at opaque cursors take turns, the longest waiting first`() {
        func progress(_ table: String, _ cursor: String, isOrdered: Bool = false) -> TableProgress {
            var progress = TableProgress(table: table, cursor: cursor, isComplete: true)
            progress.guarantees = RemoteGuarantees(hasOrderedCursors: isOrdered)
            return progress
        }
        let opaque = [progress("a", "e1.1"), progress("b", "e1.9"), progress("c", "e1.9"), progress("d", "x")]
        func step(_ asked: [String: Int], due: Set<String> = []) -> PullStep {
            PullPlan(tableProgress: opaque, limit: 1, due: due, asked: asked).step
        }
        #expect(step(["a": 3, "b": 2, "c": 2, "d": 1]) == .changes(tables: ["d"], cursor: "x"))
        #expect(step(["a": 3, "b": 2, "c": 2, "d": 4]) == .changes(tables: ["b", "c"], cursor: "e1.9"))
        #expect(step(["a": 3, "b": 2, "c": 2, "d": 4], due: ["a", "d"]) == .changes(tables: ["a"], cursor: "e1.1"))
        let ordered = [progress("a", "e1.9", isOrdered: true), progress("b", "e1.1", isOrdered: true)]
        let plan = PullPlan(tableProgress: ordered, limit: 1, asked: ["b": 9])
        #expect(plan.step == .changes(tables: ["b"], cursor: "e1.1"))
    }

    @Test(arguments: ["book", "shelf", "tag"])
    func `R6 a table at a separate opaque cursor is not starved by the others`(table: String) async throws {
        promise(RemoteGuarantees(pagesHaveOwnChanges: true))
        backend.write("tag", [id(1)], ["name": "first"])
        let reader = try Reader(backend)
        try await reader.sync()
        let column = table == "book" ? "title" : "name"
        backend.write("tag", [id(2)], ["name": "second"])
        for number in 10..<20 { backend.write(table, [id(number)], [column: .string("\(number)")]) }
        let cursor = backend.settings.withLock { $0.cursor(SyncState(epoch: "e1", seq: 1)) }
        let other = backend.settings.withLock { $0.cursor(SyncState(epoch: "e1", seq: 12)) }
        try await reader.store.apply { db in
            try db.execute(
                sql: """
                    UPDATE optimist_progress SET cursor = iif(tbl = (SELECT number FROM optimist_table WHERE name = ?), ?, ?)
                    """, arguments: [table, cursor, other])
        }
        try await reader.sync()
        #expect(try await reader.rows(table).count >= 10)
    }

    @Test func `V1 S8 an accepted row stays, whatever number an opaque cursor seems to contain`() async throws {
        promise(RemoteGuarantees(pagesHaveOwnChanges: true))
        backend.write("book", [id(10)], ["title": "There"])
        let reader = try Reader(backend)
        try await reader.sync()
        try await reader.write("INSERT INTO book(id, title) VALUES (?, 'Mine')", [id(9)])
        let batch = try #require(try await reader.store.nextPush(PushLimit()))
        try await reader.store.apply(try await backend.push(batch.push).verdicts, of: batch)
        #expect(try await titles(reader) == ["Mine", "There"])
        try await reader.sync()
        #expect(try await titles(reader) == ["Mine", "There"])
    }

    @Test(arguments: [true, false], [true, false])
    func `V1 S8 a device keeps its rows although a remote's pages omit its pushes`(
        isOrdered: Bool, hasSnapshots: Bool
    ) async throws {
        promise(
            RemoteGuarantees(hasOrderedCursors: isOrdered), leavesOutPushes: true, hasSnapshots: hasSnapshots)
        // Without snapshots, a page must cover everything that the remote remembers.
        backend.settings.withLock { $0.pageRows = 100 }
        backend.write("book", [id(10), id(11)], ["title": "There"])
        let reader = try Reader(backend)
        // The first row is accepted before the first pull, the second between pulls, and the third is answered after a
        // page of a later transaction.
        try await reader.write("INSERT INTO book(id, title) VALUES (?, 'First')", [id(1)])
        let first = try #require(try await reader.store.nextPush(PushLimit()))
        try await reader.store.apply(try await backend.push(first.push).verdicts, of: first)
        try await reader.sync()
        try await reader.write("INSERT INTO book(id, title) VALUES (?, 'Second')", [id(2)])
        try await reader.sync()
        try await reader.write("INSERT INTO book(id, title) VALUES (?, 'Third')", [id(3)])
        let third = try #require(try await reader.store.nextPush(PushLimit()))
        let verdicts = try await backend.push(third.push).verdicts
        backend.write("book", [id(12)], ["title": "Later"])
        reader.start()
        try await reader.until { store in
            try await store.read { try String.fetchAll($0, sql: "SELECT title FROM book").contains("Later") }
        }
        await reader.stop()
        try await reader.store.apply(verdicts, of: third)
        try await reader.sync()
        #expect(try await titles(reader) == ["First", "Later", "Second", "There", "There", "Third"])
        // The remote forgets the cursor, so the device receives everything again.
        backend.write("book", [id(13)], ["title": "Latest"])
        backend.purge()
        try await reader.sync()
        #expect(try await titles(reader) == ["First", "Later", "Latest", "Second", "There", "There", "Third"])
    }

    @Test(arguments: [true, false])
    func `L4 with opaque cursors, a snapshot shows deletions and keeps the rows pushed during it`(
        pagesHaveOwnChanges: Bool
    ) async throws {
        promise(
            RemoteGuarantees(pagesHaveOwnChanges: pagesHaveOwnChanges), leavesOutPushes: !pagesHaveOwnChanges)
        backend.write("book", (10..<20).map(id), ["title": "There"])
        let reader = try Reader(backend)
        try await reader.sync()
        backend.deleteUnheard("book", [id(12), id(15)])
        // Each launch continues the snapshot while rows before and after its place are sent.
        for run in 0..<12 {
            try await reader.syncKilled(run: run)
            if run < 6 {
                try await reader.write(
                    "INSERT INTO book(id, title) VALUES (?, 'Mine')", [id(run % 2 == 0 ? 1 + run : 30 + run)])
            }
        }
        backend.settings.withLock { $0.answers = .max }
        reader.clock.advance(by: .seconds(3600))
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        #expect(try await reader.rows("book").count == 14)
    }

    @Test func `L3 a device receives everything again from a restored remote with opaque cursors`() async throws {
        promise(RemoteGuarantees(pagesHaveOwnChanges: true))
        backend.write("book", [id(10)], ["title": "There"])
        let reader = try Reader(backend)
        try await reader.sync()
        let backup = backend.backup()
        for number in 11..<15 { backend.write("book", [id(number)], ["title": "Lost"]) }
        try await reader.sync()
        backend.restore(backup, as: "e2")
        backend.write("book", [id(20)], ["title": "After"])
        try await reader.sync()
        #expect(try await titles(reader) == ["After", "There"])
    }

    @Test func `a remote's guarantees are saved in the file and default to none`() async throws {
        #expect(RemoteGuarantees() == RemoteGuarantees(hasOrderedCursors: false, pagesHaveOwnChanges: false))
        let phone = try Phone()
        for bits in 0..<4 {
            let guarantees = RemoteGuarantees(hasOrderedCursors: bits & 1 != 0, pagesHaveOwnChanges: bits & 2 != 0)
            try await phone.store.note(guarantees)
            try phone.reopen()
            #expect(try await phone.store.read { try Meta.guarantees(in: $0) } == guarantees)
        }
    }
}
