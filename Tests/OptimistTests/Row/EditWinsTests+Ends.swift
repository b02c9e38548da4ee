// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// When a life of a row ended, as far as anybody has said: that is told again to a server that went back.
extension EditWinsTests {
    /// An edit is under way when the user deletes the row, and is answered that the row is gone.
    private func deleteWhileAnEditIsSent(_ answer: RemotePush.Verdict) async throws -> PushBatch {
        try await phone.execute("UPDATE note SET title = 'late'")
        let batch = try #require(try await phone.next())
        phone.advance(10_000)
        try await phone.execute("DELETE FROM note")
        try await phone.store.apply([answer], of: batch)
        return try #require(try await phone.next())
    }

    private func expectDeletion(at clock: WriteClock?, in push: RemotePush?) {
        #expect(push?.rows.map(\.change.deletion) == [Tombstone(generation: 2, clock: clock)])
    }

    /// The server goes back, and is told again what it has lost.
    private func expectHealed(_ deletion: WriteClock?) async throws {
        try await phone.store.rewind(["note"], at: nil, to: [("m", 0), ("m2", 1)].map(RemoteEpoch.init))
        expectDeletion(at: deletion, in: try await phone.next()?.push)
    }

    @Test(arguments: [true, false])
    func `L3 M2 the user's own deletion heals with its own time, and not with that of the life that it ended`(
        isAnswered: Bool
    ) async throws {
        let batch = try await deleteWhileAnEditIsSent(.gone(seq: 3))
        let entry = try #require(try await phone.store.entry(id: note.id))
        let mine = WriteClock(stamp: entry.lifeStamp, device: batch.push.device)
        expectDeletion(at: mine, in: batch.push)
        if isAnswered { try await phone.store.apply([.accepted(seq: 4)], of: batch) }
        try await expectHealed(mine)
    }

    @Test func `M2 a row that is deleted, made and deleted again before it is sent is deleted as of the last time`()
        async throws
    {
        try await phone.execute("DELETE FROM note")
        phone.advance(10_000)
        try await phone.execute("INSERT INTO note(id, title) VALUES (?, 'again')", [note.id])
        phone.advance(10_000)
        let before = try #require(try await phone.store.entry(id: note.id)).lifeStamp
        try await phone.execute("DELETE FROM note")
        let batch = try #require(try await phone.next())
        let entry = try #require(try await phone.store.entry(id: note.id))
        #expect(entry.lifeStamp.milliseconds >= before.milliseconds + 10_000)
        expectDeletion(at: WriteClock(stamp: entry.lifeStamp, device: batch.push.device), in: batch.push)
    }

    @Test(arguments: [5_000, 50_000])
    func `L3 M2 of two deletions of one life the later one is told again`(other: Int64) async throws {
        let batch = try await deleteWhileAnEditIsSent(.gone(seq: 3, Tombstone(generation: 2, clock: clock(other))))
        let entry = try #require(try await phone.store.entry(id: note.id))
        try await phone.store.apply([.accepted(seq: 4)], of: batch)
        try await expectHealed(max(WriteClock(stamp: entry.lifeStamp, device: batch.push.device), clock(other)))
    }

    @Test func `L3 M2 a deletion of which nobody has said when it was ends no life that has begun since`() async throws
    {
        try await phone.execute("UPDATE note SET title = 'late'")
        try await phone.store.apply([.gone(seq: 3)], of: try #require(try await phone.next()))
        try await tell(.row(revived(at: 7_000)))
        #expect(try await phone.rows("note")[wireID]?["title"] == "Lake")
        #expect(try await phone.store.pendingCount() == 0)
    }

    /// The row in its first life, which the server has had, with an edit of its title that is sent.
    private func known(in layout: TableLayout) -> (entry: RowEntry, sent: SentRow) {
        let title = layout[column: "title"]?.mask ?? 0
        var entry = RowEntry(
            ref: RowRef(table: layout.number, id: note.id.databaseValue), generation: 1,
            remote: RemoteRow(generation: 1),
            local: LocalEdit(group: clock(2_000).stamp, stamp: clock(2_000).stamp, dirty: title, sent: title))
        entry.remote.hear(RowPatch(clocks: ColumnClocks(common: clock(1_000)), values: ["title": "Lake"]), in: layout)
        let sent = SentRow(
            ref: entry.ref, kind: .update, generation: 1, mask: entry.dirty, lifeStamp: clock(2_000).stamp,
            clocks: ["title": .own(clock(2_000).stamp)], values: ["title": "late"], sentBefore: 0)
        return (entry, sent)
    }

    @Test func `L3 M1 an answer is taken as a page would be where a page has told meanwhile what was lost`() throws {
        let layout = try #require(phone.store.layout(named: "note"))
        let lake = RowPatch(
            generation: 1, clocks: ColumnClocks(common: clock(1_000)), seq: 5, values: ["title": "Lake", "body": "a"])
        var entry = RowEntry(
            ref: RowRef(table: layout.number, id: note.id.databaseValue), generation: 1,
            remote: RemoteRow(generation: 1))
        entry.remote.hear(lake, in: layout)
        entry.restore(in: layout)
        let edit = try #require(entry.local)
        let sent = SentRow(
            ref: entry.ref, kind: .create, generation: 1, mask: edit.dirty, lifeStamp: edit.stamp,
            clocks: ["title": edit.clock(of: "title"), "body": edit.clock(of: "body")],
            values: ["title": "Lake", "body": "a"], sentBefore: edit.sent, restores: true)
        _ = entry.receive(lake, device: "Phone", in: layout)
        #expect(!entry.isPending)
        let sea = RowPatch(generation: 1, clocks: ColumnClocks(common: clock(5_000)), values: ["title": "Sea"])
        let (settlement, _) = entry.settle(sent, .merged(seq: 6, sea), push: 1, device: "Phone", in: layout)
        #expect(settlement.change == .set(["title": "Sea"]))
        #expect(entry.remote.clocks["title"] == clock(5_000) && !entry.isPending)
    }

    private func book(_ verdict: RemotePush.Verdict, of sent: SentRow, _ entry: inout RowEntry, in layout: TableLayout)
    {
        _ = entry.settle(sent, verdict, push: 1, device: "Phone", in: layout)
    }

    @Test(arguments: [40_000, 60_000])
    func `L3 M2 of a page and of an answer that come in any order, the later deletion is told again`(answered: Int64)
        throws
    {
        let layout = try #require(phone.store.layout(named: "note"))
        var (entry, sent) = known(in: layout)
        #expect(
            entry.receive(Tombstone(generation: 2, clock: clock(50_000), seq: 7), device: "Phone", in: layout).change
                == .delete)
        let other = WriteClock(stamp: clock(answered).stamp, device: "OtherPhone")
        book(.gone(seq: 5, Tombstone(generation: 2, clock: other)), of: sent, &entry, in: layout)
        #expect(entry.remote.clocks == ColumnClocks(common: max(other, clock(50_000))))
    }

    @Test(arguments: [true, false])
    func `L3 M4 a deletion heals with the clock to which the server has reined it in, whenever the page comes`(
        pageFirst: Bool
    ) throws {
        let layout = try #require(phone.store.layout(named: "note"))
        var entry = known(in: layout).entry
        entry.generation = 2
        entry.local = LocalEdit(
            group: clock(2_000).stamp, stamp: clock(2_000).stamp, dirty: TableLayout.lifeMask)
        let fast = WriteClock(stamp: clock(90_000).stamp, device: "Phone")
        let mine = WriteClock(stamp: clock(60_000).stamp, device: "Phone")
        let sent = SentRow(
            ref: entry.ref, kind: .delete, generation: 2, mask: TableLayout.lifeMask, lifeStamp: fast.stamp,
            deletion: fast, clocks: [:], values: [:], sentBefore: 0)
        if !pageFirst { book(.accepted(seq: 4), of: sent, &entry, in: layout) }
        _ = entry.receive(Tombstone(generation: 2, clock: mine, seq: 4), device: "Phone", in: layout)
        if pageFirst { book(.accepted(seq: 4), of: sent, &entry, in: layout) }
        #expect(entry.remote.clocks.common == mine)
        #expect(!entry.isPending)
    }

    @Test func `L3 M6 when a row became one with another nobody says, and its last edit is not taken for that`() throws
    {
        let layout = try #require(phone.store.layout(named: "note"))
        var (entry, sent) = known(in: layout)
        book(.mergedInto(seq: 4, winner: wireID), of: sent, &entry, in: layout)
        #expect(entry.generation == 2 && entry.remote.generation == 2)
        #expect(entry.remote.clocks == ColumnClocks())
    }

    @Test func `L3 what is no end of the life that was sent is not taken for one`() throws {
        let layout = try #require(phone.store.layout(named: "note"))
        for life in [0, 1, 3] {
            var (entry, sent) = known(in: layout)
            book(.gone(seq: 4, Tombstone(generation: life, clock: clock(5_000))), of: sent, &entry, in: layout)
            #expect(entry.generation == 2 && entry.remote.clocks == ColumnClocks())
        }
        var (entry, sent) = known(in: layout)
        book(.gone(seq: 4, Tombstone(generation: 6, clock: clock(5_000))), of: sent, &entry, in: layout)
        #expect(entry.generation == 6 && entry.remote.generation == 6 && entry.remote.clocks.common == clock(5_000))
    }

    private func take(_ deletion: Tombstone) async throws {
        let from = try await phone.store.nextPull().cursor ?? "m.0"
        try await phone.apply(
            RemotePage(
                from: from, cursor: "m.4", hasMore: false,
                rows: [RemotePage.Row(table: "note", id: wireID, content: .deleted(deletion))]))
    }

    private func putBack() async throws {
        let note = note
        try await phone.store.write { try note.insert($0) }
    }

    @Test(arguments: [true, false])
    func `L3 M2 a life that never left the device hides nothing of how the one before it ended`(byPage: Bool)
        async throws
    {
        try await phone.execute("UPDATE note SET title = 'late'")
        let batch = byPage ? nil : try await phone.next()
        try await phone.execute("DELETE FROM note")
        try await putBack()
        let deletion = Tombstone(generation: 2, clock: clock(5_000), seq: 4)
        if let batch {
            try await phone.store.apply([.gone(seq: 4, deletion)], of: batch)
        } else {
            try await take(deletion)
        }
        try await phone.execute("DELETE FROM note")
        #expect(try await phone.store.pendingCount() == 0)
        try await expectHealed(clock(5_000))
    }

    /// The row has an edit that is later than a deletion which a page tells.
    private func outlive() async throws {
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        try await take(Tombstone(generation: 2, clock: clock(5_000), seq: 4))
        #expect(try await phone.rows("note").count == 1, "the edit is later")
    }

    /// The record in a later app, which has given up a column.
    private struct TitledNote: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "note"
        static let syncRules = SyncRules(
            counters: Note.syncRules.counters, editWins: Note.syncRules.editWins, removedColumns: ["body"])
        var id = UUID()
        var title = ""
        var likes = 0

        static func migrate(_ migrator: inout DatabaseMigrator) {
            Note.migrate(&migrator)
            migrator.registerMigration("titled") { try $0.execute(sql: "ALTER TABLE note DROP COLUMN body") }
        }
    }

    @Test func `L1 M2 a row that outlived its end by an edit of a column that the app gives up goes with that`()
        async throws
    {
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET body = 'later'")
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        try await take(Tombstone(generation: 2, clock: clock(5_000), seq: 4))
        #expect(try await phone.rows("note").count == 1, "the edit is later")
        try phone.open([TitledNote.self], migrate: TitledNote.migrate)
        #expect(try await phone.store.pendingCount() == 0)
        for device in [phone, other, phone] { try await device.sync(with: server) }
        #expect(try await phone.rows("note").isEmpty)
        #expect(try await other.rows("note").isEmpty)
    }

    @Test func `L3 M2 an edit that outlived a deletion is not taken for the time of that`() async throws {
        try await outlive()
        try await phone.execute("REPLACE INTO note SELECT * FROM note")
        try await phone.execute("DELETE FROM note")
        #expect(try await phone.store.pendingCount() == 0)
        try await expectHealed(nil)
    }

    @Test func `M2 L3 a row that outlived a deletion and is deleted here too is deleted as of now`() async throws {
        try await outlive()
        phone.advance(10_000)
        try await phone.execute("DELETE FROM note")
        let batch = try #require(try await phone.next())
        let deletion = try #require(batch.push.rows.first?.change.deleted)
        #expect(deletion.generation == 2 && deletion.clock?.stamp.milliseconds == 1_790_000_020_000)
        try await phone.store.apply([.accepted(seq: 5)], of: batch)
        #expect(try await phone.store.pendingCount() == 0)
        try await expectHealed(deletion.clock)
    }

    @Test func `L3 M6 nor is it if the row that outlived becomes one with another`() throws {
        let layout = try #require(phone.store.layout(named: "note"))
        var (entry, sent) = known(in: layout)
        let deletion = Tombstone(generation: 2, clock: clock(1_500), seq: 3, mergedInto: wireID)
        #expect(entry.receive(deletion, device: "Phone", in: layout).change == .none)
        book(.mergedInto(seq: 4, winner: wireID), of: sent, &entry, in: layout)
        #expect(entry.generation == 2 && entry.remote.clocks == ColumnClocks())
    }

    @Test(arguments: [2, 4])
    func `M1 V2 a row of whose refused edit nothing is left goes with the deletion that it outlived`(seq: Int64) throws
    {
        let layout = try #require(phone.store.layout(named: "note"))
        var (entry, sent) = known(in: layout)
        _ = entry.receive(Tombstone(generation: 2, clock: clock(1_500), seq: 3), device: "Phone", in: layout)
        #expect(entry.isAlive)
        let current = RowPatch(
            generation: 1, clocks: ColumnClocks(common: clock(1_000)), seq: seq, values: ["title": "Lake"])
        let refusal = RemotePush.Verdict.rejected(
            RemotePush.Refusal(code: "forbidden", message: "No.", current: current))
        let (settlement, outcome) = entry.settle(sent, refusal, push: 1, device: "Phone", in: layout)
        #expect(outcome.rejected == ["title": "late"])
        #expect(settlement.change == (seq == 2 ? .delete : .set(["title": "Lake"])))
        #expect(entry.isAlive == (seq == 4), "then the server has the row again")
        #expect(!entry.isPending)
    }

    @Test(arguments: [2, 7])
    func `M1 L3 an accepted edit is over with the end that came after it, and not with one that the server forgot`(
        seq: Int64
    ) throws {
        let layout = try #require(phone.store.layout(named: "note"))
        var (entry, sent) = known(in: layout)
        _ = entry.receive(Tombstone(generation: 2, clock: clock(1_500), seq: 3), device: "Phone", in: layout)
        let (settlement, _) = entry.settle(sent, .accepted(seq: seq), push: 1, device: "Phone", in: layout)
        #expect(settlement.change == (seq == 2 ? .delete : .none))
        #expect(entry.isAlive == (seq == 7))
        #expect(!entry.isPending)
    }

    @Test func `V2 an edit of a row that has outlived a deletion can be taken back`() async throws {
        try await outlive()
        try await phone.execute("UPDATE note SET body = 'red'")
        #expect(try await phone.store.entry(id: note.id)?.local?.base == ["title": "'Lake'", "body": "'blue'"])
    }

    @Test func `L3 M2 a deletion is told again until the server has none that is earlier`() throws {
        let layout = try #require(phone.store.layout(named: "note"))
        var lost = known(in: layout).entry
        lost.end(2, clock: clock(30_000))
        var edited = lost
        lost.restore(in: layout)
        for (told, isOver) in [
            (WriteClock(stamp: clock(20_000).stamp, device: "OtherPhone"), false), (clock(20_000), true),
            (WriteClock(stamp: clock(40_000).stamp, device: "OtherPhone"), true),
        ] {
            var entry = lost
            _ = entry.receive(Tombstone(generation: 2, clock: told, seq: 9), device: "Phone", in: layout)
            #expect(entry.isRestored != isOver)
            #expect(isOver ? entry.remote.clocks.common == told : entry.deletionClock("Phone") == clock(30_000))
        }
        edited.local = LocalEdit(
            group: clock(20_000).stamp, stamp: clock(20_000).stamp, dirty: TableLayout.lifeMask)
        edited.restore(in: layout)
        #expect(edited.deletionClock("Phone") == clock(30_000), "the other one was later than the user's")
    }

    @Test func `M2 L4 a row that outlives a deletion goes whole to a server that has forgotten what was deleted`()
        async throws
    {
        try await outlive()
        let batch = try #require(try await phone.next())
        #expect(batch.push.rows.first?.change.updated != nil)
        try await phone.store.apply([.lifeUnknown], of: batch)
        guard case .create(let patch)? = try await phone.next()?.push.rows.first?.change else {
            Issue.record("it is sent in part for ever")
            return
        }
        #expect(patch.generation == 3)
        #expect(patch.values["title"] == "later" && patch.values["body"] == "blue")
        let (title, body) = (try #require(patch.clocks?["title"]), try #require(patch.clocks?["body"]))
        #expect(body < title, "what was not edited has its own time")
    }

    @Test func `L3 a row of which the server does not know the life waits for a pull`() async throws {
        try await phone.execute("UPDATE note SET title = 'later'")
        let batch = try #require(try await phone.next())
        try await phone.store.apply([.lifeUnknown], of: batch)
        #expect(try await phone.next() == nil)
        phone.advance(5_000)
        #expect(try await phone.next()?.push.rows.map(\.change) == batch.push.rows.map(\.change))
    }
}
