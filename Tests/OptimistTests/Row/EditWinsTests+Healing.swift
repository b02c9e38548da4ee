// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// Edits and deletions that a server had taken, and lost when it went back.
extension EditWinsTests {
    func clock(_ milliseconds: Int64) -> WriteClock {
        WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + milliseconds), device: "ThirdPhone")
    }

    var wireID: String { note.id.uuidString.lowercased() }

    /// What the server says of the row, in a life of its database that began after the first transaction.
    func tell(_ content: RemotePage.Row.Content) async throws {
        try await phone.store.rewind(["note"], at: nil, to: [("m", 0), ("m2", 1)].map(RemoteEpoch.init))
        let from = try await phone.store.nextPull().cursor ?? "m.0"
        try await phone.apply(
            RemotePage(
                from: from, cursor: "m2.5", hasMore: false,
                rows: [RemotePage.Row(table: "note", id: wireID, content: content)]))
    }

    func revived(at milliseconds: Int64, seq: Int64? = 5, title: String = "Lake") -> RowPatch {
        RowPatch(
            generation: 3, clocks: ColumnClocks(common: clock(milliseconds)), seq: seq,
            values: ["title": .string(title), "body": "green", "likes": 0])
    }

    /// The phone has an edit that the server had taken.
    private func edit() async throws {
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        try await phone.sync(with: server)
        #expect(try await phone.store.pendingCount() == 0)
    }

    private func healed() async throws -> PushBatch {
        let batch = try #require(try await phone.next())
        guard case .create(let patch) = try #require(batch.push.rows.first).change else {
            Issue.record("what the server has lost is not sent")
            return batch
        }
        #expect(patch.generation == 1)
        #expect(patch.values["title"] == "later")
        return batch
    }

    @Test func `L3 M2 an edit that the server has lost outlives a deletion that is earlier`() async throws {
        try await edit()
        try await tell(.deleted(Tombstone(generation: 2, clock: clock(5_000), seq: 5)))
        #expect(try await phone.rows("note").count == 1)
        let batch = try await healed()
        try await phone.store.apply(
            [.merged(seq: 6, revived(at: 10_001, seq: nil, title: "later"))], of: batch)
        #expect(try await phone.rows("note")[wireID] == ["title": "later", "body": "green", "likes": 0])
        #expect(try await phone.store.pendingCount() == 0)
        #expect(try await phone.store.counts().parked == 0)
        #expect(try await phone.store.entry(id: note.id)?.generation == 3)
    }

    @Test func `L3 M2 an edit that the server has lost goes on in the life that another edit began`() async throws {
        try await edit()
        try await tell(.row(revived(at: 7_000)))
        #expect(try await phone.rows("note")[wireID]?["title"] == "later")
        let batch = try #require(try await phone.next())
        guard case .update(let patch) = try #require(batch.push.rows.first).change else {
            Issue.record("the server has the row")
            return
        }
        #expect(patch.generation == 3)
        #expect(patch.values == ["title": "later"])
        #expect(patch.clocks?["title"]?.stamp == clock(10_000).stamp)
        try await phone.store.apply([.accepted(seq: 6)], of: batch)
        #expect(try await phone.rows("note")[wireID]?["title"] == "later")
        #expect(try await phone.store.pendingCount() == 0)
    }

    @Test func `L3 R1 what is later than an edit that the server has lost takes its place`() async throws {
        try await edit()
        try await tell(.row(revived(at: 20_000)))
        #expect(try await phone.next() == nil)
        #expect(try await phone.rows("note")[wireID] == ["title": "Lake", "body": "green", "likes": 0])
        #expect(try await phone.store.entry(id: note.id)?.generation == 3)
        #expect(try await phone.store.counts().parked == 0)
    }

    @Test func `L3 M2 a row that outlives a deletion goes to the server whole when both are lost`() async throws {
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        let from = try await phone.store.nextPull().cursor ?? "m.0"
        let deletion = Tombstone(generation: 2, clock: clock(5_000), seq: 4)
        try await phone.apply(
            RemotePage(
                from: from, cursor: "m.4", hasMore: false,
                rows: [RemotePage.Row(table: "note", id: wireID, content: .deleted(deletion))]))
        #expect(try await phone.rows("note").count == 1)
        try await phone.store.rewind(["note"], at: nil, to: [("m", 0), ("m2", 0)].map(RemoteEpoch.init))
        let batch = try await healed()
        let patch = try #require(batch.push.rows.first?.change.created)
        #expect(patch.values["body"] == "blue")
        try await phone.store.apply([.accepted(seq: 1)], of: batch)
        #expect(try await phone.store.pendingCount() == 0)
    }

    @Test func `M2 R2 the answer that a row is gone says nothing against an edit made since, unless it became another`()
        throws
    {
        let layout = try #require(phone.store.layouts.first)
        let edit = LocalEdit(
            group: Stamp(rawValue: 1), stamp: Stamp(rawValue: 1), dirty: layout[column: "title"]?.mask ?? 0)
        var entry = RowEntry(
            ref: RowRef(table: layout.number, id: note.id.databaseValue), generation: 1,
            remote: RemoteRow(generation: 1), local: edit)
        var merged = entry
        let answer = Tombstone(generation: 2, clock: nil, seq: 5)
        #expect(entry.receive(answer, device: "Phone", in: layout).change == .none)
        #expect(entry.isAlive && entry.isPending)
        var other = answer
        other.mergedInto = UUID().uuidString.lowercased()
        #expect(merged.receive(other, device: "Phone", in: layout).change == .delete)
    }

    @Test func `L3 R2 M2 an edit that the server has lost goes with a deletion that is later`() async throws {
        try await edit()
        try await tell(.deleted(Tombstone(generation: 2, clock: clock(20_000), seq: 5)))
        #expect(try await phone.rows("note").isEmpty)
        #expect(try await phone.store.pendingCount() == 0)
    }

    @Test func `L3 M2 a deletion that the server has lost ends a life that is earlier, with its own clock`()
        async throws
    {
        let from = try await phone.store.nextPull().cursor ?? "m.0"
        try await phone.apply(
            RemotePage(
                from: from, cursor: "m.4", hasMore: false,
                rows: [
                    RemotePage.Row(
                        table: "note", id: wireID,
                        content: .deleted(Tombstone(generation: 2, clock: clock(9_000), seq: 4)))
                ]))
        try await phone.store.rewind(["note"], at: nil, to: [("m", 0), ("m2", 1)].map(RemoteEpoch.init))
        let batch = try #require(try await phone.next())
        try await tell(.row(revived(at: 7_000)))
        // It answers what was sent of the former life.
        try await phone.store.apply([.accepted(seq: 6)], of: batch)
        #expect(try await phone.store.pendingCount() == 1)
        guard case .delete(let tombstone)? = try await phone.next()?.push.rows.first?.change else {
            Issue.record("the deletion is lost")
            return
        }
        #expect(tombstone.generation == 4)
        #expect(tombstone.clock == clock(9_000))
    }

    @Test func `L3 W4 a row that is deleted while it is to be healed is deleted at that time`() async throws {
        try await edit()
        try await phone.store.rewind(["note"], at: nil, to: [("m", 0), ("m2", 1)].map(RemoteEpoch.init))
        phone.advance(10_000)
        try await phone.execute("DELETE FROM note")
        guard case .delete(let tombstone)? = try await phone.next()?.push.rows.first?.change else {
            Issue.record("the deletion is lost")
            return
        }
        #expect(tombstone.generation == 2)
        #expect(tombstone.clock?.stamp.milliseconds == 1_790_000_020_000)
    }

    @Test func `L4 W4 in a life that begins anew what was not edited keeps the time of its last write`() throws {
        let layout = try #require(phone.store.layout(named: "note"))
        var entry = RowEntry(
            ref: RowRef(table: layout.number, id: note.id.databaseValue), generation: 1,
            remote: RemoteRow(generation: 1))
        entry.remote.hear(
            RowPatch(clocks: ColumnClocks(common: clock(1_000)), values: ["title": "Lake", "body": "blue"]), in: layout)
        entry.local = LocalEdit(
            group: clock(7_000).stamp, stamp: clock(7_000).stamp, dirty: try #require(layout[column: "body"]).mask)
        entry.beginAnew(in: layout)
        #expect(entry.generation == 3)
        #expect(entry.dirty == layout.fullMask)
        #expect(entry.unsentClock(of: "title").stamp == clock(1_000).stamp)
        #expect(entry.unsentClock(of: "body").stamp == clock(7_000).stamp)
    }

    @Test func `L4 W4 in a life that begins anew what nobody has written yields to whatever somebody has`() throws {
        let layout = try #require(phone.store.layout(named: "note"))
        var entry = RowEntry(
            ref: RowRef(table: layout.number, id: note.id.databaseValue), generation: 1,
            remote: RemoteRow(generation: 1))
        entry.remote.hear(RowPatch(clocks: ColumnClocks(common: clock(1_000)), values: ["body": "blue"]), in: layout)
        entry.local = LocalEdit(
            group: clock(7_000).stamp, stamp: clock(7_000).stamp, dirty: try #require(layout[column: "body"]).mask)
        entry.beginAnew(in: layout)
        #expect(entry.unsentClock(of: "title").stamp < Stamp(milliseconds: 1))
        #expect(entry.unsentClock(of: "body").stamp == clock(7_000).stamp)
    }
}
