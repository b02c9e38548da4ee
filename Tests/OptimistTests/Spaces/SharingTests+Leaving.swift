// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// How a person leaves a space, and how an app learns that a space has ended.
extension SharingTests {
    func space(_ id: UUID, on phone: ListPhone) async throws -> Space? {
        try await phone.store.read { try Space.filter(Column("id") == id).fetchOne($0) }
    }

    @Test func `P1 a person who leaves offline sends the space's unsent rows first, also rows that must wait`()
        async throws
    {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        // The server has put off the row.
        let due = bob.device.time.value + 20_000
        try await bob.store.apply { try $0.execute(sql: "UPDATE optimist_edit SET due = ?", arguments: [due]) }
        try await bob.store.leave(home)
        try await bob.store.write { try SharedItem(listID: list.id, text: "Tea").insert($0) }
        try await bob.sync()
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await space(home, on: bob)?.phase == .leaving)
        #expect(try await space(home, on: bob)?.pending == 2)
        let waiting = try await bob.store.pendingRows().first { $0.table == "optimist_member" }
        #expect(waiting?.blockedBy?.hasPrefix("item:") == true)
        #expect(waiting?.waitReason == DeferralReason("unsentRows"))
        bob.device.advance(25_000)
        time.value += 25
        try await sync(bob, bob, ann)
        #expect(try await bob.lists().isEmpty)
        #expect(try await bob.store.rejections().isEmpty)
        #expect(try await pending(bob) == 0)
        #expect(try await items(ann) == ["Eggs", "Milk", "Tea"])
        #expect(try await names(of: home, on: ann) == ["Ann"])
    }

    @Test func `P8 a space that was deleted before it was sent is gone, and its rows are rejections`() async throws {
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        _ = try await add("Groceries", to: home, on: ann)
        try await ann.store.deleteSpace(home)
        try await sync(ann, ann)
        #expect(try await space(home, on: ann) == nil)
        #expect(try await ann.lists().isEmpty)
        #expect(try await ann.count("optimist_edit") == 0)
        #expect(try await ann.store.rejections().contains { $0.mine["name"] == .string("Groceries") })
        try await sync(bob)
        #expect(try await space(home, on: bob) == nil)
    }

    @Test func `P10 an owner who deletes a space does not send its unsent rows first`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await ann.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        let due = ann.device.time.value + 20_000
        try await ann.store.apply { try $0.execute(sql: "UPDATE optimist_edit SET due = ?", arguments: [due]) }
        try await ann.store.deleteSpace(home)
        try await sync(ann, ann, bob)
        for phone in [ann, bob] { #expect(try await phone.lists().isEmpty) }
    }

    @Test func `P1 a space has the number of its unsent rows, and the person's phase`() async throws {
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        #expect(try await space(home, on: ann)?.phase == .joining)
        #expect(try await space(home, on: ann)?.pending == 1)
        let list = try await add("Groceries", to: home, on: ann)
        let own = try await add("Own", to: nil, on: ann)
        #expect(try await space(home, on: ann)?.pending == 3)
        try await sync(ann)
        #expect(try await space(home, on: ann)?.phase == .joined)
        #expect(try await space(home, on: ann)?.pending == 0)
        try await move(own, to: home, on: ann)
        try await ann.store.write { db in
            try db.execute(sql: "UPDATE item SET text = 'Tea' WHERE listID = ?", arguments: [own.id])
            try db.execute(sql: "DELETE FROM item WHERE listID = ?", arguments: [list.id])
        }
        #expect(try await space(home, on: ann)?.pending == 3)
        try await ann.store.leave(home)
        #expect(try await space(home, on: ann)?.phase == .leaving)
    }

    @Test func `P8 an app learns which space has ended, why, and how many unsent rows were kept`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: home, on: ann)
        let own = try await add("Own", to: nil, on: bob)
        try await sync(ann, bob)
        try await bob.store.rename(home, to: "Flat")
        try await sync(bob)
        var ends = bob.store.spaceEnds().makeAsyncIterator()
        bob.remote.isOnline = false
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        try await move(own, to: home, on: bob)
        try await removeBob(from: home)
        bob.remote.isOnline = true
        try await sync(bob)
        #expect(await ends.next() == SpaceEnd(space: home, name: "Flat", reason: .removed, unsent: 2))
        #expect(try await bob.store.rejections().count == 2)
        try await bob.store.leave(work)
        try await sync(bob, bob)
        #expect(await ends.next() == SpaceEnd(space: work, name: "shared", reason: .left, unsent: 0))
        let link = InvitationLink(space: UUID(), secret: .random())
        _ = try await bob.store.accept(link, as: "Bob")
        bob.device.advance(25 * 3_600_000)
        time.value += 25 * 3_600
        try await sync(bob, bob)
        #expect(await ends.next() == SpaceEnd(space: link.space, name: nil, reason: .refused, unsent: 0))
    }
}
