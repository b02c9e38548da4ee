// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import Testing

@testable import Optimist
@testable import OptimistCore
@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct RewindTests {
    let backend = FakeBackend()

    init() {
        backend.settings.withLock { $0.pageRows = 100 }
        backend.write("shelf", (1...3).map(id), ["name": "Shelf"])
        backend.write("book", (11...14).map(id), ["title": "A book"])
    }

    // MARK: - Common points

    private func common(_ cursor: String, _ mine: [(String, Int64)], _ theirs: [(String, Int64)]) -> Int64? {
        let lineage = Lineage(
            mine: mine.map { RemoteEpoch(name: $0.0, firstSeq: $0.1) },
            theirs: theirs.map { RemoteEpoch(name: $0.0, firstSeq: $0.1) })
        return SyncState(cursor).map { lineage.common(with: $0) }
    }

    @Test func `L3 the common point is where the histories diverge, however many epochs followed`() {
        #expect(common("e1.41", [], [("e1", 0), ("e2", 30)]) == 30)
        #expect(common("e1.41", [], [("e1", 0), ("e2", 50), ("e3", 20), ("e4", 35)]) == 20)
        #expect(common("e1.41", [("e1", 0)], [("e1", 0), ("e2", 41)]) == 41)
        // The backup lacks the epoch that this device knows.
        #expect(common("e2.60", [("e1", 0), ("e2", 41)], [("e1", 0), ("e3", 35)]) == 35)
        #expect(common("e2.60", [("e1", 0), ("e2", 20)], [("e1", 0), ("e3", 35)]) == 20)
        #expect(common("e3.60", [("e1", 0), ("e2", 20), ("e3", 55)], [("e1", 0), ("e2", 20), ("e4", 50)]) == 50)
        // A cursor older than the device's knowledge.
        #expect(common("e1.15", [("e1", 0), ("e2", 20)], [("e1", 0), ("e3", 35)]) == 35)
        #expect(common("e9.60", [], [("e1", 0), ("e3", 35)]) == 0, "the two have no known epoch in common")
        #expect(common("e1.60", [], [("e1", 7)]) == 7)
        #expect(
            common("e2.50", [("e1", 0), ("e3", 55)], [("e1", 0), ("e3", 55)]) == 0,
            "neither list has the cursor's epoch")
        // The remote lists only the epochs after the cursor's epoch.
        #expect(common("e1.50", [("e1", 0), ("e2", 55)], [("e2", 55), ("e3", 60)]) == 55)
    }

    /// A device with a project from the server's 9th transaction, and steps up to its 5th.
    private func desk(_ project: Project) async throws -> Desk {
        let desk = try Desk()
        try await desk.store.take([.project(project, seq: 9)], to: ["project"], seq: 9)
        try await desk.store.take([], to: ["step"], seq: 5)
        return desk
    }

    @Test func `L3 a fork that one table finds also rewinds the others`() async throws {
        let desk = try await desk(Project(title: "Trip"))
        try await desk.store.rewind(["step"], at: nil, to: [("e1", 0), ("e2", 3)].map(RemoteEpoch.init))
        #expect(try await desk.store.counts().pending == 1)
        #expect(try await desk.store.tableProgress().map(\.awaitsSnapshot) == [true, true])
    }

    @Test func `L3 a table that is being received again restores its rows from after the fork`() async throws {
        let desk = try await desk(Project(title: "Trip"))
        try await desk.store.startResync(of: ["project"])
        try await desk.store.rewind(["step"], at: nil, to: [("e1", 0), ("e2", 5)].map(RemoteEpoch.init))
        #expect(try await desk.store.counts().pending == 1)
        #expect(try await desk.store.tableProgress().map(\.cursor) == [nil, "e2.5"])
    }

    @Test func `L3 a table already in the current epoch is not rewound when another table enters it`() async throws {
        let desk = try Desk()
        try await desk.store.take([.project(Project(title: "Trip"), seq: 12)], to: ["project"], seq: 12, epoch: "e2")
        try await desk.store.take([], to: ["step"], seq: 5)
        try await desk.store.rewind(["step"], at: nil, to: [("e1", 0), ("e2", 9)].map(RemoteEpoch.init))
        #expect(try await desk.store.counts().pending == 0)
        #expect(try await desk.store.tableProgress().map(\.cursor) == ["e2.12", "e2.5"])
    }

    /// A desk in the middle of a catch-up. The server was at its 9th transaction when it made the page.
    private func deskWithinCatchUp(head: String?) async throws -> Desk {
        let desk = try Desk()
        var page = RemotePage(from: "e1.0", cursor: "e1.5", hasMore: true, rows: [.step(Step(text: "Tickets"), seq: 4)])
        page.head = head
        #expect(try await desk.store.apply(page, to: ["step", "project"], initialCursor: "e1.0"))
        return desk
    }

    @Test func `L3 a device in the middle of a catch-up starts over if the server lost some of its pages`()
        async throws
    {
        let kept = try await deskWithinCatchUp(head: "e1.9")
        try await kept.store.rewind(["step"], at: "e1.5", to: [("e1", 0), ("e2", 9)].map(RemoteEpoch.init))
        #expect(try await kept.store.tableProgress().map(\.cursor) == ["e2.5", "e2.5"])
        for head in ["e1.9", nil] {
            let lost = try await deskWithinCatchUp(head: head)
            try await lost.store.rewind(["step"], at: "e1.5", to: [("e1", 0), ("e2", 8)].map(RemoteEpoch.init))
            #expect(try await lost.store.tableProgress().map(\.cursor) == [nil, nil])
        }
        let through = try await deskWithinCatchUp(head: "e1.9")
        try await through.store.take([], from: 5, to: 9)
        try await through.store.rewind(["step"], at: "e1.9", to: [("e1", 0), ("e2", 8)].map(RemoteEpoch.init))
        #expect(try await through.store.tableProgress().map(\.cursor) == ["e2.8", "e2.8"])
    }

    @Test func `R6 L3 a part of a snapshot applied in pieces is recorded in the current epoch`()
        async throws
    {
        let desk = try Desk()
        let rows = (0..<1_200).map { RemotePage.Row.step(Step(text: "\($0)"), seq: 5) }.sorted { $0.id < $1.id }
        for (next, cursor) in [(rows[1_199].id, nil), (nil, "e2.9")] as [(String?, String?)] {
            try await desk.store.startResync(of: ["step"])
            var page = RemoteSnapshot(at: "e1.9", rows: rows, next: next)
            page.epochs = [("e1", 0), ("e2", 9)].map(RemoteEpoch.init)
            page.head = "e2.9"
            let asked = RemoteSnapshot.Request(table: "step", at: "e1.9", limit: 5_000)
            #expect(try await desk.store.apply(page, of: asked))
            let progress = try #require(try await desk.store.tableProgress().first { $0.table == "step" })
            #expect(progress.at == "e2.9")
            #expect(progress.place == next)
            #expect(progress.cursor == cursor)
        }
        #expect(try await desk.store.read { try Step.fetchCount($0) } == 1_200)
        #expect(try await desk.store.counts().pending == 0)
    }

    @Test func `L3 M1 a lost value is restored with its clock if the unsent edit is older`() async throws {
        let desk = try Desk()
        let step = Step(text: "Tickets")
        try await desk.store.take([.step(step)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'Mine'") }
        let theirs = Step(id: step.id, text: "Theirs")
        try await desk.store.take([.step(theirs, seq: 2, stamp: 1_790_000_900_000)], from: 1, to: 2)
        try await desk.store.rewind(["step"], at: nil, to: [("e1", 0), ("e2", 0)].map(RemoteEpoch.init))
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        guard case .create(let patch) = try #require(batch.push.rows.first).change else {
            Issue.record("the row is not sent in full")
            return
        }
        #expect(patch.values["text"] == "Theirs")
        #expect(patch.clocks?["text"]?.device == "OtherPhone")
        try await desk.store.apply([.accepted(seq: 3)], of: batch)
        #expect(try await desk.store.steps() == ["Theirs"])
    }

    @Test(arguments: ["{\"@gen\":2,\"@hlc\":\"019ab3c4d5e90000-OtherPhone\"}", "{\"@gen\":2}", "null", "7"])
    func `L3 a gone answer contains the deletion in JSON, unless the server is older`(json: String) throws {
        let answer = try JSON(parsing: Array("{\"type\":\"notFound\",\"deletion\":\(json)}".utf8))
        let error = try #require(SetError(json: answer))
        #expect(error.deletion == Tombstone(json: try JSON(parsing: Array(json.utf8))))
        #expect((error.deletion == nil) == !json.hasPrefix("{"))
        #expect(SetError(json: error.json) == error)
        #expect(AnswerClass.verdict(error, on: .update(RowPatch()), at: 5) == .gone(seq: 5, error.deletion))
        let deletion = RemotePush.Row.Change.delete(Tombstone(generation: 2, clock: nil))
        #expect(AnswerClass.verdict(error, on: deletion, at: 5) == .accepted(seq: 5))
        #expect(AnswerClass.verdict(SetError("lifeUnknown"), on: .update(RowPatch()), at: 5) == .lifeUnknown)
    }

    @Test func `L3 a device whose push is acknowledged before its first pull checks whether the server went back`()
        async throws
    {
        let desk = try Desk()
        try await desk.store.write { try Step(text: "Tickets").insert($0) }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.apply([.accepted(seq: 1)], of: batch, in: "e1")
        #expect(try await desk.store.cursorOfFormerLife(than: "e1.7") == nil)
        let cursor = try #require(try await desk.store.cursorOfFormerLife(than: "e2.7"))
        #expect(SyncState(cursor) == SyncState(epoch: "e1", seq: .max))
        try await desk.store.rewind([], at: cursor, to: [("e0", 0), ("e2", 0)].map(RemoteEpoch.init))
        #expect(try await desk.store.counts().pending == 1)
        #expect(try await desk.store.cursorOfFormerLife(than: "e2.7") == nil)
    }

    @Test func `L3 a device does not restore a life that it does not have`() async throws {
        let desk = try Desk()
        try await desk.store.take([], to: ["step", "project"], seq: 3)
        try await desk.store.write { try Step(text: "Tickets").insert($0) }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let clocks = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_005_000), device: "OtherPhone"))
        let won = RowPatch(
            generation: 3, clocks: clocks,
            values: ["text": "Flights", "project": .string(UUID().uuidString.lowercased())])
        try await desk.store.apply([.merged(seq: 6, won)], of: batch)
        #expect(try await desk.store.counts().parked == 1, "the step's project has not arrived")
        try await desk.store.rewind(["step"], at: "e1.3", to: [("e1", 0), ("e2", 4)].map(RemoteEpoch.init))
        #expect(try await desk.store.counts().pending == 0)
    }

    /// One transaction can write two rows that are merged later: both rows have the transaction's clock.
    @Test(arguments: [true, false])
    func `L3 M6 a restored row takes the server's value with an equal clock`(isAnswer: Bool) async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step, seq: 4)], to: ["step"], seq: 4)
        try await desk.store.rewind(["step"], at: "e1.4", to: [("e1", 0), ("e2", 3)].map(RemoteEpoch.init))
        let row = RemotePage.Row.step(Step(id: step.id, text: "Flights"), seq: 5)
        if isAnswer, case .row(var won) = row.content {
            let batch = try #require(try await desk.store.nextPush(PushLimit()))
            won.seq = nil
            try await desk.store.apply([.merged(seq: 5, won)], of: batch)
        } else {
            try await desk.store.take([row], to: ["step"], seq: 5, epoch: "e2")
        }
        #expect(try await desk.store.steps() == ["Flights"])
        #expect(try await desk.store.counts().pending == 0)
    }

    @Test func `L4 M1 a value that the server no longer has reverts to the column's default`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: 1)
        var patch = try #require(RemotePage.Row.step(step, seq: 2).patch)
        patch.values = JSONObject([("project", .null)])
        let row = RemotePage.Row(table: "step", id: step.wireID, content: .row(patch))
        try await desk.store.take([row], from: 1, to: 2)
        #expect(try await desk.store.steps() == [""])
        #expect(try await desk.store.counts().pending == 0)
    }

    /// The row was replaced here and elsewhere, and no page reported that before the server went back.
    @Test func `L3 L4 a life that this device also began is sent in full when the server has lost it`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: ["step", "project"], seq: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'Flights'") }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let anew = Step(id: step.id, text: "Anew")
        try await desk.store.write { try anew.insert($0, onConflict: .replace) }
        var won = try #require(RemotePage.Row.step(step, seq: 6).patch)
        (won.generation, won.seq) = (3, nil)
        try await desk.store.apply([.merged(seq: 6, won)], of: batch)
        try await desk.store.rewind(["step"], at: "e1.1", to: [("e1", 0), ("e2", 4)].map(RemoteEpoch.init))
        let change = try await desk.store.nextPush(PushLimit())?.push.rows.first?.change
        guard case .create(let sent)? = change else {
            Issue.record("the row is sent as \(String(describing: change))")
            return
        }
        #expect(sent.values["text"] == "Anew")
        #expect(sent.generation == 3)
    }

    @Test(arguments: [4, 9])
    func `L3 R4 a table with a parked row that the server lost is received again`(seq: Int) async throws {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([], to: ["step", "project"], seq: 1)
        try await desk.store.take([.step(tickets, seq: 4, in: trip)], from: 1, to: seq)
        #expect(try await desk.store.counts().parked == 1, "the step's project has not arrived")
        // The server also had the step in its second transaction, in another project.
        try await desk.store.rewind(
            ["step", "project"], at: "e1.\(seq)", to: [("e1", 0), ("e2", 3)].map(RemoteEpoch.init))
        let tableProgress = try await desk.store.tableProgress()
        #expect(tableProgress.first { $0.table == "step" }?.awaitsSnapshot == true)
        #expect(tableProgress.first { $0.table == "project" }?.awaitsSnapshot == false)
        #expect(try await desk.store.counts().parked == 0)
    }

    @Test func `L1 L3 an old app restores columns that it does not know`() async throws {
        let desk = try Desk()
        var patch = try #require(RemotePage.Row.step(Step(text: "Tickets"), seq: 9).patch)
        patch.values["colour"] = "green"
        let row = RemotePage.Row(table: "step", id: UUID().uuidString.lowercased(), content: .row(patch))
        try await desk.store.take([row], to: ["step", "project"], seq: 9)
        try await desk.store.rewind(["step"], at: "e1.9", to: [("e1", 0), ("e2", 5)].map(RemoteEpoch.init))
        let push = try #require(try await desk.store.nextPush(PushLimit())).push
        guard case .create(let healed)? = push.rows.first?.change else {
            Issue.record("the row is not restored in full")
            return
        }
        #expect(healed.values["colour"] == "green")
        #expect(healed.clocks?["colour"] == patch.clocks?["colour"])
    }

    @Test func `L3 L5 a table whose deletion the device has forgotten is received again if the server lost it`()
        async throws
    {
        let (desk, trip) = (try Desk(), Project(title: "Trip"))
        try await desk.store.take([], to: ["step", "project"], seq: 1)
        try await desk.store.take([.project(trip, seq: 5)], from: 1, to: 9)
        try await desk.store.take([.gone("project", trip.id, seq: 11)], from: 9, to: 12)
        try await desk.store.forgetDeletedRows(rememberedFor: 90, at: .now, knowing: 12)
        try await desk.store.forgetDeletedRows(rememberedFor: 90, at: .distantFuture, knowing: 12)
        try await desk.store.rewind(
            ["step", "project"], at: "e1.12", to: [("e1", 0), ("e2", 10)].map(RemoteEpoch.init))
        let tableProgress = try await desk.store.tableProgress()
        #expect(tableProgress.first { $0.table == "project" }?.cursor == nil)
        #expect(tableProgress.first { $0.table == "step" }?.cursor == "e2.10")
    }

    @Test func `L3 L5 a deletion after a restore is not mistaken for an earlier one`()
        async throws
    {
        let (desk, trip) = (try Desk(), Project(title: "Trip"))
        let start = Date.now
        try await desk.store.take([], to: ["step", "project"], seq: 1)
        try await desk.store.take([], from: 1, to: 12)
        try await desk.store.forgetDeletedRows(rememberedFor: 90, at: start, knowing: 12)
        try await desk.store.rewind(
            ["step", "project"], at: "e1.12", to: [("e1", 0), ("e2", 5)].map(RemoteEpoch.init))
        #expect(
            try await desk.store.apply(
                RemotePage(
                    from: "e2.5", cursor: "e2.7", hasMore: false,
                    rows: [.project(trip, seq: 6), .gone("project", trip.id, seq: 7)]),
                to: ["step", "project"], initialCursor: "e2.0"))
        try await desk.store.forgetDeletedRows(rememberedFor: 90, at: start + 181 * 86_400, knowing: 7)
        let entries = try await desk.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_remote") }
        #expect(entries == 1)
    }
}

extension Store {
    /// Applies the first page of some tables.
    fileprivate func take(_ rows: [RemotePage.Row], to tables: [String], seq: Int, epoch: String = "e1") async throws {
        #expect(
            try await apply(
                RemotePage(from: "e1.0", cursor: "\(epoch).\(seq)", hasMore: false, rows: rows), to: tables,
                initialCursor: "e1.0"
            ))
    }
}
