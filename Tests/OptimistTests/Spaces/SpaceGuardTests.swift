// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@testable import Optimist

/// The rights to write in a space, as the device knows them.
@Suite(.timeLimit(.minutes(20)))
struct SpaceGuardTests {
    private let device: Device
    private var store: Store { device.store }
    private let space = UUID()
    private let me = UUID()

    init() throws { device = try ShoppingLists.device() }

    private func join(as role: SpaceRole) async throws { try await store.join(space, as: role, member: me) }

    private func refusal(_ write: @escaping @Sendable (Database) throws -> Void) async -> OptimistError.Code? {
        do { try await store.write(write) } catch { return (error as? OptimistError)?.code }
        return nil
    }

    private func receiveList(_ list: ShoppingList, items: [ShoppingItem] = []) async throws {
        try await receiveMember(.writer)
        try await store.write { db in
            try list.insert(db)
            for item in items { try item.insert(db) }
        }
    }

    private func receiveMember(_ role: SpaceRole, seq: Int64 = 3) async throws {
        try await store.receiveMember(me, of: space, role: role, seq: seq)
    }

    @Test func `P6 a row in a space that the person does not use is refused`() async throws {
        let list = ShoppingList(title: "Groceries", space: space)
        #expect(await refusal { try list.insert($0) } == .unknownSpace)
        #expect(try await store.read { try ShoppingList.fetchCount($0) } == 0)
        #expect(await refusal { try ShoppingList(title: "Mine").insert($0) } == nil)
    }

    @Test func `P6 a reader changes nothing in the space, and everything in the own account`() async throws {
        try await join(as: .writer)
        let list = ShoppingList(title: "Groceries", space: space)
        let item = ShoppingItem(listID: list.id, title: "Milk")
        try await receiveList(list, items: [item])
        try await receiveMember(.reader, seq: 4)
        let other = ShoppingItem(listID: list.id, title: "Eggs")
        #expect(await refusal { try other.insert($0) } == .readOnlySpace)
        #expect(await refusal { try ShoppingList(title: "Tools", space: space).insert($0) } == .readOnlySpace)
        #expect(await refusal { try $0.execute(sql: "UPDATE list SET title = 'X'") } == .readOnlySpace)
        #expect(await refusal { try $0.execute(sql: "UPDATE item SET title = 'X'") } == .readOnlySpace)
        #expect(await refusal { try item.delete($0) } == .readOnlySpace)
        #expect(await refusal { try list.delete($0) } == .readOnlySpace)
        #expect(await refusal { try ShoppingList(title: "Mine").insert($0) } == nil)
        #expect(try await store.read { try ShoppingItem.fetchAll($0) } == [item])
    }

    @Test func `P6 a writer changes rows, but no roles, members and invitations of others`() async throws {
        try await join(as: .writer)
        let other = UUID()
        try await store.receiveMember(other, of: space, role: .owner, isMe: false, seq: 3)
        #expect(await refusal { try ShoppingList(title: "Tools", space: space).insert($0) } == nil)
        await #expect(throws: OptimistError.self) { try await store.setRole(of: me, to: .owner) }
        await #expect(throws: OptimistError.self) { try await store.setRole(of: other, to: .reader) }
        await #expect(throws: OptimistError.self) { try await store.remove(other) }
        await #expect(throws: OptimistError.self) { try await store.invite(to: space, label: "Groceries") }
        #expect(
            await refusal {
                try $0.execute(sql: "UPDATE optimist_member SET name = 'Me' WHERE id = ?", arguments: [me])
            }
                == nil)
        try await store.leave(space)
        #expect(try await store.read { try SpaceMember.of(space).fetchAll($0).map(\.id) } == [other])
    }

    @Test func `P10 a space with members keeps an owner`() async throws {
        try await join(as: .owner)
        let other = UUID()
        try await store.receiveMember(other, of: space, role: .writer, isMe: false, seq: 3)
        #expect(
            await refusal { try $0.execute(sql: "DELETE FROM optimist_member WHERE id = ?", arguments: [me]) }
                == .lastOwner)
        await #expect(throws: OptimistError.self) { try await store.leave(space) }
        try await store.transfer(space, to: other)
        #expect(try await store.read { try SpaceMember.filter(Column("id") == other).fetchOne($0)?.role } == .owner)
        try await store.leave(space)
    }

    @Test func `P10 an owner deletes a space with all its members`() async throws {
        try await join(as: .owner)
        try await store.receiveMember(UUID(), of: space, role: .writer, isMe: false, seq: 3)
        try await store.deleteSpace(space)
        #expect(try await store.read { try SpaceMember.of(space).fetchCount($0) } == 0)
    }

    @Test func `P3 a foreign key stays within a space`() async throws {
        try await join(as: .writer)
        let list = ShoppingList(title: "Groceries", space: space)
        let (mine, shared) = (Aisle(name: "Dairy"), Aisle(name: "Dairy", space: space))
        try await store.write { db in
            try list.insert(db)
            try mine.insert(db)
            try shared.insert(db)
        }
        let item = ShoppingItem(listID: list.id, title: "Milk")
        #expect(
            await refusal { db in
                var item = item
                item.aisleID = mine.id
                try item.insert(db)
            } == .crossesSpaces)
        #expect(
            await refusal { db in
                var item = item
                item.aisleID = shared.id
                try item.insert(db)
            } == nil)
    }

    @Test func `P4 a root row moves with the rows below it, and a child or a missing row is refused`()
        async throws
    {
        try await join(as: .writer)
        let (list, missing) = (ShoppingList(title: "Groceries"), ShoppingList(title: "Other"))
        let item = ShoppingItem(listID: list.id, title: "Milk")
        try await store.write { db in
            try list.insert(db)
            try item.insert(db)
        }
        let space = space
        for place in [space, nil] {
            try await store.write { try list.move(to: place, in: $0) }
            #expect(try await store.read { try ShoppingList.fetchOne($0, key: ["id": list.id])?.space } == place)
        }
        #expect(await refusal { try item.move(to: space, in: $0) } == .invalidTable)
        #expect(await refusal { try list.move(to: UUID(), in: $0) } == .unknownSpace)
        await #expect(throws: RecordError.self) { try await store.write { try missing.move(to: space, in: $0) } }
    }

    @Test func `P17 a transaction with many rows below one parent is checked once`() async throws {
        try await join(as: .writer)
        let list = ShoppingList(title: "Groceries", space: space)
        let store = store
        let anchors = try await store.write { db in
            try list.insert(db)
            for number in 0..<100 { try ShoppingItem(listID: list.id, title: "\(number)").insert(db) }
            return store.capture.spaceWrites.anchors.count
        }
        #expect(anchors == 2)
    }

    @Test func `P6 a role that the device does not know forbids nothing`() async throws {
        try await join(as: .writer)
        try await store.apply { db in
            let number = try #require(try Scope.number(ofSpace: space.wire, in: db))
            try Scope.update(number, in: db) { $0.member = nil }
        }
        #expect(await refusal { try ShoppingList(title: "Tools", space: space).insert($0) } == nil)
    }

    @Test func `P16 rows that stay in the own account are not counted as moved`() async throws {
        let (from, to) = (ShoppingList(title: "A"), ShoppingList(title: "B"))
        try await store.write { db in
            try from.insert(db)
            try to.insert(db)
            for number in 0...Relocation.maxRows {
                try ShoppingItem(listID: from.id, title: "\(number)").insert(db)
            }
        }
        #expect(await refusal { try $0.execute(sql: "UPDATE item SET listID = ?", arguments: [to.id]) } == nil)
        try await join(as: .writer)
        #expect(
            await refusal { try $0.execute(sql: "UPDATE list SET space = ?", arguments: [space]) } == .tooManyToMove)
    }
}
