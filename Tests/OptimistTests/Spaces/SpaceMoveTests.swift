// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistWire

/// Rows that the user moves to another space, with everything below them.
@Suite(.timeLimit(.minutes(20)))
struct SpaceMoveTests {
    private let device: Device
    private var store: Store { device.store }
    private let a = UUID()
    private let b = UUID()
    private let list = ShoppingList(title: "Groceries")
    private let milk: ShoppingItem
    private let eggs: ShoppingItem

    init() throws {
        device = try ShoppingLists.device()
        milk = ShoppingItem(listID: list.id, title: "Milk")
        eggs = ShoppingItem(listID: list.id, title: "Eggs")
    }

    /// The person uses both spaces, and the server has the list with its items in the space `a` or, if nil, in the
    /// person's own account.
    private func begin(in space: UUID?, as role: SpaceRole = .writer, memberOfA: UUID = UUID()) async throws {
        try await store.join(a, as: .writer, member: memberOfA)
        try await store.join(b, as: role)
        try await store.write { db in
            var list = list
            list.space = space
            try list.insert(db)
            try milk.insert(db)
            try eggs.insert(db)
        }
        try await sendAll()
    }

    private func sendAll() async throws {
        while let batch = try await device.next() { try await accept(batch) }
    }

    private func accept(_ batch: PushBatch, seq: Int64 = 5) async throws {
        let verdicts = batch.push.rows.map { row -> RemotePush.Verdict in
            guard case .move(_, let patch, _) = row.change else { return .accepted(seq: seq) }
            return .merged(seq: seq, RowPatch(generation: (patch.generation ?? 1) + 2))
        }
        _ = try await store.apply(verdicts, of: batch)
    }

    private func move(to space: UUID?) async throws {
        try await store.write { db in
            try db.execute(sql: "UPDATE list SET space = ? WHERE id = ?", arguments: [space, list.id])
        }
    }

    private func entry(_ id: UUID) async throws -> RowEntry? {
        try await store.read { db in
            for layout in store.layouts {
                let ref = RowRef(table: layout.number, id: id.databaseValue)
                if let entry = try RowEntryTable(db).entry(ref) { return entry }
            }
            return nil
        }
    }

    private func scope(of space: UUID) async throws -> Int64? {
        try await store.read { try Scope.number(ofSpace: space.wire, in: $0) }
    }

    private func moves(_ batch: PushBatch) -> [String: String?] {
        Dictionary(
            batch.push.rows.compactMap { row in
                if case .move(let source, _, _) = row.change { (row.id, source) } else { nil }
            }, uniquingKeysWith: { $1 })
    }

    @Test(arguments: [true, false])
    func `P4 a list moves with its items, as one group`(fromSpace: Bool) async throws {
        try await begin(in: fromSpace ? a : nil)
        try await move(to: b)
        let batch = try #require(try await device.next())
        let source = fromSpace ? a.wire : nil
        #expect(moves(batch) == [list.id.wire: source, milk.id.wire: source, eggs.id.wire: source])
        #expect(batch.push.groups == [0..<3])
        #expect(Set(batch.push.rows.map(\.space)) == [b.wire])
        let patch = try #require(batch.push.rows.lazy.compactMap(\.change.moved).first)
        #expect(patch.values == ["space": .string(b.wire)])
        try await accept(batch)
        let target = try await scope(of: b)
        for id in [list.id, milk.id, eggs.id] {
            let entry = try #require(try await entry(id))
            #expect(entry.remote.scope == target && entry.generation == 3 && !entry.isPending)
        }
        #expect(try await store.read { try ShoppingItem.fetchCount($0) } == 2)
        #expect(try await device.next() == nil)
    }

    @Test func `P4 edits and deletions after the push follow the rows`() async throws {
        try await begin(in: a)
        try await move(to: b)
        let batch = try #require(try await device.next())
        try await store.write { db in
            try db.execute(sql: "UPDATE item SET title = 'Oat milk' WHERE id = ?", arguments: [milk.id])
            try db.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [eggs.id])
        }
        try await accept(batch)
        let next = try #require(try await device.next())
        #expect(next.push.rows.map(\.space) == [b.wire, b.wire])
        let row = try #require(next.push.rows.first { $0.id == milk.id.wire })
        #expect(row.change.updated?.generation == 3)
        let gone = try #require(next.push.rows.first { $0.id == eggs.id.wire })
        #expect(gone.change.deleted?.generation == 4)
        try await accept(next)
        #expect(try await store.read { try ShoppingItem.fetchAll($0).map(\.title) } == ["Oat milk"])
    }

    @Test func `P3 a new item of a moving list is created in the list's next space`() async throws {
        try await begin(in: a)
        try await move(to: b)
        let bread = ShoppingItem(listID: list.id, title: "Bread")
        try await store.write { try bread.insert($0) }
        let batch = try #require(try await device.next())
        #expect(moves(batch).count == 3)
        try await accept(batch)
        let next = try #require(try await device.next())
        #expect(next.push.rows.map(\.id) == [bread.id.wire] && next.push.rows.map(\.space) == [b.wire])
    }

    @Test func `P6 a refused move puts the list back, and the rejection keeps it`() async throws {
        try await begin(in: a)
        try await move(to: b)
        let batch = try #require(try await device.next())
        let refusal = RemotePush.Refusal(code: "roleForbids", message: "A reader may not change the rows of a space.")
        let verdicts = batch.push.rows.map { row -> RemotePush.Verdict in
            row.id == list.id.wire ? .rejected(refusal) : .groupFailed(by: ["list:\(list.id.wire)"], current: nil)
        }
        _ = try await store.apply(verdicts, of: batch)
        #expect(try await store.read { try ShoppingList.fetchAll($0).map(\.space) } == [a])
        #expect(try await store.rejections().map(\.code) == ["roleForbids"])
        #expect(try await device.next() == nil)
    }

    private func answerMoved(_ batch: PushBatch, to space: UUID, at clock: WriteClock) async throws {
        let account = try #require(SpaceAccount.id(ofSpace: space.wire))
        let verdicts = batch.push.rows.map { _ -> RemotePush.Verdict in
            var end = Tombstone(generation: 2, clock: nil, seq: 9)
            end.movedTo = RowDestination(account: account, generation: 3, clock: clock)
            return .gone(seq: 9, end)
        }
        _ = try await store.apply(verdicts, of: batch)
    }

    @Test(arguments: [true, false])
    func `P4 the later one of concurrent moves wins`(isLater: Bool) async throws {
        let c = UUID()
        try await begin(in: a)
        try await store.join(c, as: .writer)
        try await move(to: c)
        let batch = try #require(try await device.next())
        let stamp = Stamp(milliseconds: isLater ? 1_790_000_000_000 - 5_000 : 1_790_000_000_000 + 5_000, counter: 0)
        try await answerMoved(batch, to: b, at: WriteClock(stamp: stamp, device: "other"))
        #expect(try await entry(list.id)?.remote.scope == scope(of: b))
        let next = try await device.next()
        if isLater {
            let next = try #require(next)
            #expect(moves(next)[list.id.wire] == b.wire)
            #expect(next.push.rows.first?.space == c.wire)
        } else {
            #expect(next == nil)
        }
    }

    @Test func `P4 an edit whose row has moved is sent again to where the row is`() async throws {
        try await begin(in: a)
        try await store.write { db in
            try db.execute(sql: "UPDATE item SET title = 'Oat milk' WHERE id = ?", arguments: [milk.id])
        }
        let batch = try #require(try await device.next())
        #expect(batch.push.rows.map(\.space) == [a.wire])
        try await answerMoved(batch, to: b, at: WriteClock(stamp: .zero, device: "other"))
        let next = try #require(try await device.next())
        #expect(next.push.rows.map(\.space) == [b.wire])
        #expect(next.push.rows.first?.change.updated?.generation == 3)
    }

    @Test(arguments: [
        ["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"], ["b", "c", "a"], ["c", "a", "b"], ["c", "b", "a"],
    ])
    func `P4 a list that moved twice arrives, in whatever order the spaces report it`(order: [String]) async throws {
        let c = UUID()
        try await begin(in: a)
        try await store.join(c, as: .writer)
        for name in order {
            switch name {
            case "a": try await receiveEnd(in: a, movedTo: b, generation: 3)
            case "b": try await receiveEnd(in: b, movedTo: c, generation: 5)
            default: try await receiveList(in: c, generation: 5)
            }
        }
        #expect(try await entry(list.id)?.remote.scope == scope(of: c))
        #expect(try await store.read { try ShoppingList.fetchAll($0).map(\.space) } == [c])
        #expect(try await store.parkedRows().isEmpty)
    }

    @Test func `P4 a list that is back in its space drops its claims`() async throws {
        try await begin(in: a)
        try await receiveEnd(in: b, movedTo: a, generation: 5)
        #expect(try await store.parkedRows().count == 1)
        try await receiveList(in: a, generation: 5)
        #expect(try await entry(list.id)?.remote.scope == scope(of: a))
        #expect(try await store.parkedRows().isEmpty)
    }

    @Test func `P4 a list moves away although a new item, whose answer got lost, is below it there`() async throws {
        try await begin(in: a)
        let bread = ShoppingItem(listID: list.id, title: "Bread")
        try await store.write { try bread.insert($0) }
        let items = [milk, eggs, bread]
        try await receiveList(in: b, generation: 3)
        for item in items {
            try await receiveItem(item, in: b, generation: item.id == bread.id ? 1 : 3)
        }
        #expect(try await store.parkedRows().count == 4)
        try await receiveEnd(in: a, movedTo: b, generation: 3)
        for item in [milk, eggs] { try await receiveEnd(of: item.id, in: a, movedTo: b, generation: 3) }
        #expect(try await store.parkedRows().isEmpty)
        for id in [list.id] + items.map(\.id) { #expect(try await entry(id)?.remote.scope == scope(of: b)) }
    }

    @Test func `P4 a row that has moved follows the transactions of its present space`() async throws {
        try await begin(in: a)
        #expect(try await entry(list.id)?.remote.seq == 5)
        try await receiveEnd(in: a, movedTo: b, generation: 3)
        // The other space has had fewer transactions.
        try await receiveList(in: b, generation: 3, seq: 2)
        #expect(try await entry(list.id)?.remote.seq == 2)
        #expect(try await store.read { try ShoppingList.fetchAll($0).map(\.space) } == [b])
    }

    private func receiveItem(_ item: ShoppingItem, in space: UUID, generation: Int) async throws {
        let clock = WriteClock(stamp: .zero, device: "other")
        let values: JSONObject = ["title": .string(item.title), "listID": .string(list.id.wire), "aisleID": .null]
        let patch = RowPatch(generation: generation, clocks: ColumnClocks(common: clock), seq: 9, values: values)
        try await receive(.row(patch), of: item.id, in: space)
    }

    private func receiveEnd(
        of id: UUID? = nil, in space: UUID, movedTo destination: UUID, generation: Int
    ) async throws {
        var end = Tombstone(generation: generation - 1, clock: nil, seq: 9)
        let account = try #require(SpaceAccount.id(ofSpace: destination.wire))
        end.movedTo = RowDestination(account: account, generation: generation, clock: nil)
        try await receive(.deleted(end), of: id, in: space)
    }

    private func receiveList(in space: UUID, generation: Int, seq: Int64 = 9) async throws {
        let clock = WriteClock(stamp: .zero, device: "other")
        let values: JSONObject = ["title": .string(list.title), "space": .string(space.wire)]
        try await receive(
            .row(RowPatch(generation: generation, clocks: ColumnClocks(common: clock), seq: seq, values: values)),
            in: space)
    }

    private func receive(_ content: RemotePage.Row.Content, of item: UUID? = nil, in space: UUID) async throws {
        let row = RemotePage.Row(
            table: item == nil ? "list" : "item", id: (item ?? list.id).wire, content: content)
        try await store.apply { db in
            let number = try #require(try Scope.number(ofSpace: space.wire, in: db))
            _ = try store.receive([row], PageContext(scope: number), in: db)
        }
    }

    @Test(arguments: [true, false])
    func `P6 a row that has moved is judged by its present space, before the next page`(mayWrite: Bool) async throws {
        let (memberOfA, c) = (UUID(), UUID())
        try await begin(in: a, as: mayWrite ? .writer : .reader, memberOfA: memberOfA)
        try await store.join(c, as: .writer)
        try await store.write { try $0.execute(sql: "UPDATE list SET title = 'Food'") }
        let batch = try #require(try await device.next())
        try await answerMoved(batch, to: b, at: WriteClock(stamp: .zero, device: "other"))
        if mayWrite { try await store.receiveMember(memberOfA, of: a, role: .reader, seq: 9) }
        #expect(try await store.read { try ShoppingList.fetchAll($0).map(\.space) } == [a])
        let tea = ShoppingItem(listID: list.id, title: "Tea")
        let writes: [@Sendable (Database) throws -> Void] = [
            { try $0.execute(sql: "UPDATE list SET title = 'Tools'") }, { try tea.insert($0) },
            { [c] in try $0.execute(sql: "UPDATE list SET space = ?", arguments: [c]) },
            { try $0.execute(sql: "DELETE FROM list") },
        ]
        for write in writes {
            if mayWrite {
                try await store.write(write)
            } else {
                await #expect(throws: OptimistError.self) { try await store.write(write) }
            }
        }
        #expect(try await store.read { try ShoppingList.fetchCount($0) } == (mayWrite ? 0 : 1))
    }

    @Test func `P6 a move needs the right to write in both spaces`() async throws {
        try await begin(in: a, as: .reader)
        await #expect(throws: OptimistError.self) { try await move(to: b) }
        #expect(try await store.read { try ShoppingList.fetchAll($0).map(\.space) } == [a])
    }

    @Test func `P3 a move cuts references like a deletion`() async throws {
        try await begin(in: a)
        let aisle = Aisle(name: "Dairy", space: a)
        try await store.write { db in
            try aisle.insert(db)
            try db.execute(sql: "UPDATE item SET aisleID = ? WHERE id = ?", arguments: [aisle.id, milk.id])
        }
        try await sendAll()
        try await move(to: b)
        #expect(try await store.read { try ShoppingItem.fetchAll($0).compactMap(\.aisleID) }.isEmpty)
        let batch = try #require(try await device.next())
        let patch = batch.push.rows.first { $0.id == milk.id.wire }?.change.moved
        #expect(patch?.values == ["aisleID": .null])
    }

    @Test func `P3 a new parent in the same space is an edit, not a move`() async throws {
        try await begin(in: a)
        let other = ShoppingList(title: "Tools", space: a)
        try await store.write { try other.insert($0) }
        try await sendAll()
        try await store.write { db in
            try db.execute(sql: "UPDATE item SET listID = ? WHERE id = ?", arguments: [other.id, milk.id])
        }
        let batch = try #require(try await device.next())
        #expect(moves(batch).isEmpty && batch.push.rows.map(\.space) == [a.wire])
    }

    @Test func `P4 a list that was sent without an answer moves as a whole`() async throws {
        try await store.join(a, as: .writer)
        try await store.join(b, as: .writer)
        try await store.write { db in
            var list = list
            list.space = a
            try list.insert(db)
        }
        let lost = try #require(try await device.next())
        try await store.pushEnded(lost)
        try await move(to: b)
        let batch = try #require(try await device.next())
        guard case .move(let source, let patch, let isWhole)? = batch.push.rows.first?.change else {
            Issue.record("not a move")
            return
        }
        #expect(source == a.wire && isWhole)
        #expect(patch.values["title"] == "Groceries" && patch.values["space"] == .string(b.wire))
    }

    @Test func `P4 an item whose answer got lost moves with its list`() async throws {
        try await begin(in: a)
        let bread = ShoppingItem(listID: list.id, title: "Bread")
        try await store.write { try bread.insert($0) }
        let lost = try #require(try await device.next())
        try await store.pushEnded(lost)
        try await receiveItem(bread, in: a, generation: 1)
        #expect(try await entry(bread.id)?.isPending == true)
        try await move(to: b)
        var moved: Set<String> = []
        while let batch = try await device.next() {
            moved.formUnion(moves(batch).keys)
            try await accept(batch)
        }
        #expect(moved == Set([list.id, milk.id, eggs.id, bread.id].map(\.wire)))
    }
}
