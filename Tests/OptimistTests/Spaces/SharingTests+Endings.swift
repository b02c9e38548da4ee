// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// Spaces that the server no longer knows.
extension SharingTests {
    private func forget(_ space: UUID) {
        server.store.contents.accounts[SpaceAccount.id(of: space.wire, own: "")] = nil
    }

    @Test func `P8 a space that the operator deleted ends on the devices of its members`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: home, on: ann)
        _ = try await add("Tools", to: work, on: ann)
        try await sync(ann, bob)
        bob.remote.isOnline = false
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        forget(home)
        bob.remote.isOnline = true
        try await sync(bob, bob)
        #expect(try await bob.lists() == ["Tools"])
        #expect(try await bob.store.read { try Space.fetchAll($0).map(\.id) } == [work])
        #expect(try await bob.store.rejections().map(\.code) == ["accessRevoked"])
        #expect(try await pending(bob) == 0)
    }

    @Test func `P8 the device of a removed person keeps no invitation and no member of the space`() async throws {
        let home = try await share("Home")
        _ = try await invite(to: home)
        try await sync(bob)
        #expect(try await bob.count("optimist_invitation") == 1)
        #expect(try await bob.count("optimist_member") == 2)
        try await removeBob(from: home)
        try await sync(bob)
        #expect(try await bob.count("optimist_invitation") == 0)
        #expect(try await bob.count("optimist_member") == 0)
    }

    @Test func `P8 a row that waits in a space is forgotten with the space`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        // Another row with the list's id.
        let other: JSONObject = ["name": "Tools", "space": .string(work.wire)]
        try await server.create("list", list.id, other, in: work, as: "ann")
        try await sync(bob)
        #expect(try await bob.store.parkedRows().map(\.reason) == [.idInOtherSpace])
        try await removeBob(from: work)
        try await sync(bob)
        #expect(try await bob.store.parkedRows().isEmpty)
        try await server.delete("list", list.id, in: home, as: "ann")
        try await sync(bob)
        #expect(try await bob.lists().isEmpty)
    }

    @Test(arguments: [true, false])
    func `P12 a space that another device left is left again after a restore`(isLastOwner: Bool) async throws {
        let home = try await share("Home")
        _ = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        server.store.begin(epoch: "n")
        try await sync(ann, bob, ann, bob)
        let (person, device) = isLastOwner ? ("ann", ann) : ("bob", bob)
        try await server.delete("optimist_space", home, as: person)
        try await sync(device, device, device)
        #expect(try await isMember(person, of: home, on: device) == isLastOwner)
    }

    @Test func `P9 a space that the person joined again is not left because another device heard of the end`()
        async throws
    {
        let home = try await share("Home")
        _ = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await server.delete("optimist_space", home, as: "bob")
        try await sync(bob, bob, bob)
        #expect(try await isMember("bob", of: home, on: bob))
    }

    /// Whether the server has the person as a member, and the device shows the space with its list. Both must agree.
    private func isMember(_ person: String, of space: UUID, on device: ListPhone) async throws -> Bool {
        let isMember = try server.members(of: space).contains { $0.person == person && $0.end == nil }
        #expect(try await device.lists() == (isMember ? ["Groceries"] : []))
        #expect(try await device.store.read { try Space.fetchCount($0) } == (isMember ? 1 : 0))
        #expect(try await pending(device) == 0)
        return isMember
    }

    @Test func `L3 a file from a backup is recognised by a push that only a space has seen`() async throws {
        let home = try await share("Home")
        let row = RemotePush.Row(
            table: "list", id: UUID().wire,
            change: .create(RowPatch(generation: 1, values: ["name": "Tools", "space": .string(home.wire)])),
            space: home.wire)
        let later = try await bob.remote.push(RemotePush(number: 90, device: "copy", rows: [row]))
        #expect(later.verdicts.count == 1 && later.verdicts[0].isFinal)
        var check = RemotePush(number: 89, device: "copy", rows: [])
        _ = try await bob.remote.push(check)
        check.spaces = [home.wire]
        let early = check
        await #expect(throws: RemoteFailure.pushRewound) { _ = try await bob.remote.push(early) }
        // The server ignores spaces that the person cannot use.
        check.number = 90
        check.spaces.append(UUID().wire)
        #expect(try await bob.remote.push(check).verdicts.isEmpty)
        try await removeBob(from: home)
        #expect(try await bob.remote.push(check).verdicts.isEmpty)
    }

    @Test func `P12 a space that a restored server does not know stays on the device`() async throws {
        let before = server.store.contents
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        server.store.contents = before
        server.store.begin(epoch: "n")
        // The founder is away.
        for _ in 1...3 { try await sync(bob) }
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await items(bob) == ["Eggs", "Milk"])
        #expect(try await bob.store.read { try Space.fetchAll($0).map(\.id) } == [home])
        #expect(try await bob.store.rejections().isEmpty)
        try await bob.store.leave(home)
        try await sync(bob, bob)
        #expect(try await bob.lists().isEmpty)
        #expect(try await bob.store.read { try Space.fetchCount($0) } == 0)
        #expect(try await Set(bob.store.rejections().map(\.code)) == ["accessRevoked"])
        #expect(try await pending(bob) == 0)
    }

    /// Ann's list in a space that Bob joins by a link. Two days later the server has lost everything.
    private func loseSpace(bob role: SpaceRole) async throws -> UUID {
        let before = server.store.contents
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        let link = try #require(try await ann.store.invite(to: home, as: role, label: "Home").link)
        _ = try await add("Groceries", to: home, on: ann)
        try await sync(ann)
        _ = try await bob.store.accept(link, as: "Bob")
        try await sync(bob, ann)
        pass(seconds: 2 * 86_400)
        server.store.contents = before
        server.store.begin(epoch: "n")
        return home
    }

    private func pass(seconds: Int) {
        for phone in [ann, bob] { phone.device.advance(Int64(seconds) * 1000) }
        time.value += Int64(seconds)
    }

    @Test(arguments: [true, false])
    func `P12 after a restore that lost a space, its members and rows return`(founderIsFirst: Bool) async throws {
        let home = try await loseSpace(bob: .reader)
        let list = try #require(try await ann.store.read { try SharedList.fetchOne($0) })
        try await ann.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        for _ in 1...4 {
            for phone in founderIsFirst ? [ann, bob] : [bob, ann] { try await sync(phone) }
            pass(seconds: 60)
        }
        for phone in [ann, bob] {
            #expect(try await phone.lists() == ["Groceries"])
            #expect(try await items(phone) == ["Eggs", "Milk"])
            #expect(try await names(of: home, on: phone) == ["Ann", "Bob"])
            #expect(try await pending(phone) == 0)
            #expect(try await phone.store.rejections().isEmpty)
        }
        #expect(try await space(home, on: ann)?.role == .owner)
        #expect(try await space(home, on: bob)?.role == .reader)
    }

    @Test func `P12 a member who was removed while the server had lost the space stays out`() async throws {
        let home = try await loseSpace(bob: .writer)
        let members = try await ann.store.read { try SpaceMember.of(home).fetchAll($0) }
        try await ann.store.remove(try #require(members.first { !$0.isMe }?.id))
        for _ in 1...3 {
            for phone in [ann, bob] { try await sync(phone) }
            pass(seconds: 60)
        }
        #expect(try await names(of: home, on: ann) == ["Ann"])
    }

    @Test func `P12 a move that a restored server lost is sent again`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: nil, on: ann)
        try await sync(ann, bob)
        let before = server.store.contents
        try await move(list, to: home, on: ann)
        try await sync(ann, bob, ann)
        server.store.contents = before
        server.store.begin(epoch: "n")
        for _ in 1...4 {
            try await sync(bob, ann)
            for phone in [ann, bob] { phone.device.advance(60_000) }
            time.value += 60
        }
        let tablet = try ListPhone(server, "ann")
        try await sync(tablet)
        for phone in [ann, bob, tablet] {
            #expect(try await phone.lists() == ["Groceries"])
            #expect(try await items(phone) == ["Milk"])
            #expect(try await space(of: list, on: phone) == home)
            #expect(try await pending(phone) == 0)
            #expect(try await phone.count("optimist_parked") == 0)
        }
    }

    @Test func `P2 another space's row with a known clock and a lower life does not take a row away`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: nil, on: ann)
        try await move(list, to: home, on: ann)
        try await sync(ann)
        try await move(list, to: nil, on: ann)
        try await sync(ann)
        try await move(list, to: home, on: ann)
        try await sync(ann, ann)
        let known = try #require(try await ann.entry("list", list.id)?.remote.clocks["name"])
        // The server starts again, and has lost nothing.
        server.store.begin(epoch: "n")
        try await sync(ann)
        let clocks = ColumnClocks(
            common: WriteClock(stamp: known.stamp.successor, device: "evil"), exceptions: ["name": known])
        try await server.create(
            "list", list.id,
            ["name": "owned", "space": .string(work.wire), "@gen": 1, "@hlc": clocks.json], in: work, as: "bob")
        for _ in 1...3 { try await sync(ann) }
        #expect(try await space(of: list, on: ann) == home)
        #expect(try await ann.lists() == ["Groceries"])
        #expect(try await pending(ann) == 0)
        try await server.delete("list", list.id, in: work, as: "bob")
        for _ in 1...2 { try await sync(ann) }
        #expect(try await ann.lists() == ["Groceries"])
        #expect(try await items(ann) == ["Milk"])
        #expect(try await pending(ann) == 0)
    }

    @Test func `P12 a member whose leaving the restored server forgot is shown again`() async throws {
        let home = try await share("Home")
        let before = server.store.contents
        try await bob.store.leave(home)
        try await sync(bob, bob, ann)
        #expect(try await names(of: home, on: ann) == ["Ann"])
        server.store.contents = before
        server.store.begin(epoch: "n")
        for _ in 1...3 { try await sync(ann) }
        #expect(try await names(of: home, on: ann) == ["Ann", "bob"])
        #expect(try await pending(ann) == 0)
    }
}
