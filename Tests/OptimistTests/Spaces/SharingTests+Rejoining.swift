// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// People who open a link of a space that their device already has.
extension SharingTests {
    func invite(to space: UUID) async throws -> InvitationLink {
        let link = try #require(try await ann.store.invite(to: space, label: "Groceries").link)
        try await sync(ann)
        return link
    }

    func removeBob(from space: UUID) async throws {
        let members = try await ann.store.read { try SpaceMember.of(space).fetchAll($0) }
        try await ann.store.remove(try #require(members.first { !$0.isMe }?.id))
        try await sync(ann)
    }

    func names(of space: UUID, on phone: ListPhone) async throws -> [String?] {
        try await phone.store.read { try SpaceMember.of(space).fetchAll($0).map(\.name) }
    }

    @Test func `P1 a member's day of joining is the same on each device, and no later edit changes it`() async throws {
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        func since(_ phone: ListPhone) async throws -> [Date?] {
            try await phone.store.read { try SpaceMember.of(home).fetchAll($0).map(\.since) }
        }
        #expect(try await since(ann) == [nil])
        _ = try await bob.store.accept(try await invite(to: home), as: "Bob")
        try await sync(bob, ann)
        let days = try await since(ann)
        #expect(days.count == 2 && days.allSatisfy { $0 != nil })
        for phone in [ann, bob] { phone.device.advance(3_600_000) }
        let members = try await ann.store.read { try SpaceMember.of(home).fetchAll($0) }
        for role in [SpaceRole.reader, .owner] {
            try await ann.store.setRole(of: try #require(members.last?.id), to: role)
            try await sync(ann, bob)
        }
        try await bob.store.write {
            try $0.execute(sql: "UPDATE optimist_member SET name = 'Bobby' WHERE name = 'Bob'")
        }
        try await sync(bob, ann)
        #expect(try await since(ann) == days)
        #expect(try await since(bob) == days)
        #expect(try await names(of: home, on: bob) == ["Ann", "Bobby"])
    }

    @Test(arguments: [true, false])
    func `P9 a removed person joins with a later link, before or after the device hears of the removal`(
        hearsFirst: Bool
    ) async throws {
        let home = try await share("Home")
        let list = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        try await removeBob(from: home)
        let link = try await invite(to: home)
        _ = try await bob.store.accept(link, as: "Bobby")
        #expect(try await bob.lists() == ["Groceries"])
        if hearsFirst {
            let scope = try #require(try await bob.scope(of: home)).number
            try await bob.store.leaveScope(scope, of: home.wire, EndedAccess(.removed))
            #expect(try await bob.lists().isEmpty)
        }
        try await sync(bob, ann, bob)
        #expect(try await bob.lists() == ["Groceries"])
        #expect(try await bob.store.rejections().isEmpty)
        let space = try #require(try await bob.store.read { try Space.fetchOne($0) })
        #expect(space.isJoined && space.role == .writer && space.memberCount == 2)
        for phone in [ann, bob] { #expect(try await names(of: home, on: phone) == ["Ann", "Bobby"]) }
        try await bob.store.write { try SharedItem(listID: list.id, text: "Eggs").insert($0) }
        try await sync(bob, ann)
        #expect(try await items(ann) == ["Eggs", "Milk"])
    }

    @Test func `P9 a removed person whose new link does not work loses the rows, and has a rejection`() async throws {
        let home = try await share("Home")
        _ = try await add("Groceries", to: home, on: ann)
        let early = try await invite(to: home)
        try await sync(bob)
        try await removeBob(from: home)
        let (_, receipt) = try await bob.store.accept(early, as: "Bob")
        bob.device.advance(25 * 3_600_000)
        time.value += 25 * 3_600
        try await sync(bob, bob)
        #expect(try await bob.store.rejections(awaiting: receipt).map(\.code) == ["invitationInvalid"])
        #expect(try await bob.lists().isEmpty)
        #expect(try await bob.store.read { try Space.fetchCount($0) } == 0)
        #expect(try await pending(bob) == 0)
    }

    @Test func `P9 a member who opens another link stays the same member, and the link is not used`() async throws {
        let home = try await share("Home")
        _ = try await add("Groceries", to: home, on: ann)
        try await sync(ann, bob)
        let link = try await invite(to: home)
        for _ in 1...2 {
            let space = try await bob.store.accept(link, as: "Bobby").space
            #expect(space.isJoined && space.role == .writer && space.memberCount == 2)
            #expect(try await names(of: home, on: bob).count == 2)
        }
        let before = try await bob.scope(of: home)
        try await sync(bob, ann, bob)
        #expect(try await bob.scope(of: home)?.member == before?.member)
        for phone in [ann, bob] { #expect(try await names(of: home, on: phone).count == 2) }
        #expect(try await ann.store.read { try SpaceInvitation.of(home).fetchAll($0).map(\.used) } == [0])
        #expect(try await bob.store.rejections().isEmpty)
        #expect(try await pending(bob) == 0)
    }
}
