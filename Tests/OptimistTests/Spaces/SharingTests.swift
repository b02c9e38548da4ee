// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// People share lists, through one server.
@Suite(.timeLimit(.minutes(20)))
struct SharingTests {
    /// The server's time, in seconds since 1970.
    let time = Mutexed<Int64>(1_790_000_000)
    let server: InMemoryServer
    let ann: ListPhone
    let bob: ListPhone

    init() throws {
        server = InMemoryServer(
            schema: .sharedLists, now: { [time] in Date(timeIntervalSince1970: Double(time.value)) })
        ann = try ListPhone(server, "ann")
        bob = try ListPhone(server, "bob")
    }

    func sync(_ phones: ListPhone...) async throws {
        for phone in phones { try await phone.sync() }
    }

    /// Founds a space by Ann's device. Bob is also a member.
    func share(_ name: String) async throws -> UUID {
        let space = try await ann.store.createSpace(named: name, as: "Ann").id
        try await sync(ann)
        try await server.join(space, "bob")
        try await sync(bob, ann)
        return space
    }

    func add(_ name: String, to space: UUID?, on phone: ListPhone) async throws -> SharedList {
        let list = SharedList(name: name, space: space)
        try await phone.store.write { db in
            try list.insert(db)
            try SharedItem(listID: list.id, text: "Milk").insert(db)
        }
        return list
    }

    func move(_ list: SharedList, to space: UUID?, on phone: ListPhone) async throws {
        try await phone.store.write { db in try list.move(to: space, in: db) }
    }

    func items(_ phone: ListPhone) async throws -> [String] {
        try await phone.store.read { try String.fetchAll($0, sql: "SELECT text FROM item ORDER BY text") }
    }

    func space(of list: SharedList, on phone: ListPhone) async throws -> UUID? {
        try await phone.store.read { try SharedList.fetchOne($0, key: ["id": list.id])?.space }
    }

    func pending(_ phone: ListPhone) async throws -> Int { try await phone.count("optimist_edit") }

    /// Expects that both phones show a list with these items in a space, and have nothing to send.
    func expect(
        _ list: SharedList, in space: UUID, with items: [String], at place: SourceLocation = #_sourceLocation
    ) async throws {
        for phone in [ann, bob] {
            #expect(try await self.space(of: list, on: phone) == space, sourceLocation: place)
            #expect(try await self.items(phone) == items, sourceLocation: place)
            #expect(try await pending(phone) == 0, sourceLocation: place)
        }
    }

    @Test func `P1 a space that a device made has its owner, and others see its rows`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await items(bob) == ["Milk"])
        let spaces = try await ann.store.read { try Space.fetchAll($0) }
        #expect(spaces.map(\.isJoined) == [true] && spaces.map(\.role) == [.owner])
        #expect(try await bob.store.read { try Space.fetchAll($0).map(\.role) } == [.writer])
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        try await sync(bob, ann)
        #expect(try await items(ann) == ["Eggs", "Milk"])
    }

    @Test func `P4 a personal list that its owner shares appears for the others, with its items`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: nil, on: ann)
        try await sync(ann, bob)
        #expect(try await bob.lists().isEmpty)
        try await move(list, to: home, on: ann)
        try await sync(ann, bob)
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await items(bob) == ["Milk"])
        #expect(try await pending(ann) == 0)
        try await sync(ann)
        #expect(try await space(of: list, on: ann) == home)
        #expect(try await items(ann) == ["Milk"])
    }

    @Test func `P4 edits and deletions of a person who did not know of the move follow the list`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        bob.remote.isOnline = false
        try await bob.store.write { db in
            try db.execute(sql: "UPDATE item SET text = 'Oat milk'")
            try db.execute(sql: "UPDATE list SET name = 'Food'")
        }
        try await move(list, to: work, on: ann)
        try await sync(ann)
        bob.remote.isOnline = true
        try await sync(bob, ann, bob, ann)
        for phone in [ann, bob] {
            #expect(try await phone.lists() == ["Food"])
        }
        try await expect(list, in: work, with: ["Oat milk"])
    }

    @Test(arguments: [true, false])
    func `P4 the later one of concurrent moves wins on all devices`(bobIsLater: Bool) async throws {
        let (home, work, club) = (try await share("Home"), try await share("Work"), try await share("Club"))
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        (bobIsLater ? bob : ann).device.advance(2_000)
        try await move(list, to: club, on: bob)
        try await move(list, to: work, on: ann)
        try await sync(ann, bob, ann, bob, ann)
        try await expect(list, in: bobIsLater ? club : work, with: ["Milk"])
    }

    @Test func `P4 a list that moves out of a person's spaces disappears there, and the journal keeps the edit`()
        async throws
    {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        bob.remote.isOnline = false
        try await bob.store.write { try $0.execute(sql: "UPDATE list SET name = 'Food'") }
        try await move(list, to: nil, on: ann)
        try await sync(ann)
        bob.remote.isOnline = true
        try await sync(bob, ann, bob)
        #expect(try await bob.lists().isEmpty)
        #expect(try await items(bob).isEmpty)
        #expect(try await ann.lists() == ["Groceries"])
        #expect(try await bob.store.conflicts().contains { $0.mine["name"] == "Food" })
        #expect(try await pending(bob) == 0)
    }

    @Test func `P8 a removed person loses the rows, and keeps unsent words as a rejection`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        bob.remote.isOnline = false
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        let members = try await ann.store.read { try SpaceMember.of(home).fetchAll($0) }
        try await ann.store.remove(try #require(members.first { !$0.isMe }?.id))
        try await sync(ann)
        bob.remote.isOnline = true
        try await sync(bob)
        #expect(try await bob.lists().isEmpty)
        #expect(try await bob.store.read { try Space.fetchCount($0) } == 0)
        #expect(try await bob.store.rejections().map(\.code) == ["accessRevoked"])
        #expect(try await bob.store.rejections().first?.mine["text"] == "Eggs")
        #expect(try await ann.lists() == ["Groceries"])
    }

    @Test func `P6 a member who became a reader while offline keeps the refused words`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        bob.remote.isOnline = false
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        let members = try await ann.store.read { try SpaceMember.of(home).fetchAll($0) }
        try await ann.store.setRole(of: try #require(members.first { !$0.isMe }?.id), to: .reader)
        try await sync(ann)
        bob.remote.isOnline = true
        try await sync(bob)
        #expect(try await bob.store.rejections().map(\.code) == ["roleForbids"])
        #expect(try await items(bob) == ["Milk"])
        await #expect(throws: OptimistError.self) {
            try await bob.store.write { try SharedItem(listID: list.id, text: "Tea").insert($0) }
        }
        #expect(try await bob.store.read { try Space.fetchAll($0).map(\.mayWrite) } == [false])
    }

    @Test func `P8 a person who leaves loses the rows when the server has confirmed it`() async throws {
        let home = try await share("Home")
        _ = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await bob.store.leave(home)
        #expect(try await bob.lists() == ["Groceries"])
        try await sync(bob, bob)
        #expect(try await bob.lists().isEmpty)
        #expect(try await bob.store.read { try Space.fetchCount($0) } == 0)
        #expect(try await pending(bob) == 0)
    }

    @Test func `P8 P10 an owner who deletes a space ends it for all`() async throws {
        let home = try await share("Home")
        _ = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await ann.store.deleteSpace(home)
        try await sync(ann, bob, ann)
        for phone in [ann, bob] {
            #expect(try await phone.lists().isEmpty)
            #expect(try await phone.store.read { try Space.fetchCount($0) } == 0)
        }
    }

    // MARK: - Invitations

    @Test func `P1 P9 a link that was made and accepted offline admits the person when both are online`() async throws {
        ann.remote.isOnline = false
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        let list = try await add("Groceries", to: home, on: ann)
        let invitation = try await ann.store.invite(to: home, as: .writer, label: "Groceries")
        let link = try #require(invitation.link)
        let (space, receipt) = try await bob.store.accept(link, as: "Bob")
        #expect(!space.isJoined)
        try await sync(bob)
        #expect(try await bob.lists().isEmpty)
        ann.remote.isOnline = true
        try await sync(ann)
        bob.device.advance(60_000)
        try await sync(bob)
        #expect(try await bob.store.rejections(awaiting: receipt).isEmpty)
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await bob.store.read { try Space.fetchAll($0).map(\.role) } == [.writer])
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        try await sync(bob, ann)
        #expect(try await items(ann) == ["Eggs", "Milk"])
        #expect(try await ann.store.read { try SpaceInvitation.of(home).fetchAll($0).map(\.used) } == [1])
        #expect(try await ann.store.read { try SpaceMember.of(home).fetchAll($0).map(\.name) } == ["Ann", "Bob"])
    }

    @Test func `P9 a link admits one person, and no one after its revocation`() async throws {
        let carol = try ListPhone(server, "carol")
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        let first = try #require(try await ann.store.invite(to: home, as: .reader, label: "Home").link)
        let second = try await ann.store.invite(to: home, as: .reader, label: "Home")
        try await sync(ann)
        _ = try await bob.store.accept(first, as: "Bob")
        try await sync(bob)
        #expect(try await bob.store.read { try Space.fetchAll($0).map(\.isJoined) } == [true])
        try await ann.store.revoke(second.id)
        try await sync(ann)
        for link in [first, try #require(second.link)] {
            let (_, receipt) = try await carol.store.accept(link, as: "Carol")
            carol.device.advance(25 * 3_600_000)
            time.value += 25 * 3_600
            try await sync(carol)
            #expect(try await carol.store.rejections(awaiting: receipt).map(\.code) == ["invitationInvalid"])
            #expect(try await carol.store.read { try Space.fetchCount($0) } == 0)
        }
        #expect(try await pending(carol) == 0)
    }

    @Test func `P9 a removed person joins again with a later link, and finds the rejections`() async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        let member = try await ann.store.read { try SpaceMember.of(home).fetchAll($0).first { !$0.isMe } }
        try await ann.store.remove(try #require(member?.id))
        try await sync(ann, bob)
        #expect(try await bob.lists().isEmpty)
        let link = try #require(try await ann.store.invite(to: home, label: "Groceries").link)
        try await sync(ann)
        _ = try await bob.store.accept(link, as: "Bob")
        try await sync(bob, bob)
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await items(bob) == ["Milk"])
        let rejection = try #require(try await bob.store.rejections().first)
        try await bob.store.retry(rejection)
        try await sync(bob, ann)
        #expect(try await items(ann) == ["Eggs", "Milk"])
    }

    @Test func `P4 an item that goes below a list while that list moves arrives after it`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let (food, tools) = (try await add("Food", to: home, on: ann), try await add("Tools", to: home, on: ann))
        try await sync(ann, bob)
        ann.remote.isOnline = false
        try await move(food, to: work, on: ann)
        try await ann.store.write { db in
            try db.execute(sql: "UPDATE item SET listID = ? WHERE listID = ?", arguments: [food.id, tools.id])
        }
        ann.remote.isOnline = true
        try await sync(ann, bob, ann)
        for phone in [ann, bob] {
            #expect(try await phone.count("item WHERE listID = x'\(food.id.hex)'") == 2)
            #expect(try await space(of: food, on: phone) == work)
            #expect(try await pending(phone) == 0)
        }
    }

    @Test func `P4 a list that moves there and back while an edit is under way keeps the edit`() async throws {
        let (home, work) = (try await share("Home"), try await share("Work"))
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        bob.remote.isOnline = false
        try await bob.store.write { try $0.execute(sql: "UPDATE item SET text = 'Oat milk'") }
        try await move(list, to: work, on: ann)
        try await sync(ann)
        try await move(list, to: home, on: ann)
        try await sync(ann)
        bob.remote.isOnline = true
        try await sync(bob, ann, bob, ann)
        try await expect(list, in: home, with: ["Oat milk"])
    }
}

extension UUID {
    fileprivate var hex: String { wire.replacing("-", with: "") }
}
