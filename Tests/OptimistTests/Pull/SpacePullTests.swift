// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// Devices of several persons receive the spaces that they use.
@Suite(.timeLimit(.minutes(20)))
struct SpacePullTests {
    private let server = InMemoryServer(
        schema: .sharedLists, now: { Date(timeIntervalSince1970: 1_790_000_000) })
    private let home = UUID()
    private let work = UUID()

    // MARK: - Receiving

    @Test func `R6 P7 a device receives the spaces of its person, with all shared tables, and no others`() async throws
    {
        let list = try await server.found(home, by: "ann")
        try await server.create("item", UUID(), ["listID": .string(list.id.wire), "text": "milk"], in: home, as: "ann")
        try await server.found(work, by: "bob")
        try await server.create("note", UUID(), ["text": "mine"], as: "ann")
        let phone = try ListPhone(server, "ann")
        let outcome = try await phone.sync()
        #expect(outcome.isComplete)
        #expect(outcome.status.isCaughtUp)
        #expect(outcome.status.progress == nil)
        #expect(try await phone.lists() == ["list of ann"])
        #expect(try await phone.count("item") == 1)
        #expect(try await phone.count("note") == 1)
        #expect(try await phone.count("optimist_member") == 1)
        let scope = try #require(try await phone.scope(of: home))
        #expect(try await phone.entry("list", list.id)?.remote.scope == scope.number)
        #expect(scope.member == (try server.members(of: home).first?.memberID))
        #expect(try await phone.count("optimist_scope") == 2)
    }

    @Test func `R6 later changes of two spaces arrive on the devices of all members`() async throws {
        let list = try await server.found(home, by: "ann")
        try await server.found(work, by: "ann")
        try await server.join(home, "bob")
        let (ann, bob) = (try ListPhone(server, "ann"), try ListPhone(server, "bob"))
        try await ann.sync()
        try await bob.sync()
        #expect(try await ann.lists() == ["list of ann", "list of ann"])
        #expect(try await bob.lists() == ["list of ann"])
        try await server.create("item", UUID(), ["listID": .string(list.id.wire), "text": "tea"], in: home, as: "bob")
        try await ann.sync()
        try await bob.sync()
        for phone in [ann, bob] {
            #expect(try await phone.count("item") == 1)
            #expect(try await phone.count("optimist_member") == (phone === ann ? 3 : 2))
        }
        try await server.delete("list", list.id, in: home, as: "bob")
        try await ann.sync()
        #expect(try await ann.lists() == ["list of ann"])
        #expect(try await ann.count("item") == 0)
    }

    @Test func `R6 100 new spaces need one request for as many as fit 64 calls`() async throws {
        for _ in 0..<100 { try await server.found(UUID(), by: "ann") }
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        #expect(try await phone.lists().count == 100)
        // Each space has four tables.
        let batches = phone.batches.value
        #expect(batches.allSatisfy { $0.count <= 16 })
        #expect(Set(batches.prefix(7).joined()).count == 100)
    }

    @Test func `P16 an app without spaces asks for nothing more than before`() async throws {
        try await server.create("note", UUID(), ["text": "mine"], as: "ann")
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        #expect(phone.batches.value.isEmpty)
        #expect(phone.questions.value == 0)
        #expect(try await phone.count("optimist_scope") == 1)
        #expect(
            try await phone.count(
                "optimist_progress WHERE tbl IN (SELECT number FROM optimist_table WHERE name IN ('optimist_member', 'optimist_invitation'))"
            ) == 0)
    }

    // MARK: - Troubles of one space

    @Test(arguments: [
        RemoteFailure.unreachable("shard down"), .cursorLost, .spaceNotFound,
    ])
    func `P11 a space in trouble keeps its rows, and the others are received`(failure: RemoteFailure) async throws {
        try await server.found(home, by: "ann")
        try await server.found(work, by: "ann")
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        for (space, name) in [(home, "new at home"), (work, "new at work")] {
            try await server.create(
                "list", UUID(), ["name": .string(name), "space": .string(space.wire)], in: space, as: "ann")
        }
        phone.troubles.value = [home: Array(repeating: failure, count: 100)]
        let outcome = try await phone.sync()
        #expect(try await phone.lists() == ["list of ann", "list of ann", "new at work"])
        #expect(outcome.status.isCaughtUp == (failure == .spaceNotFound))
        phone.troubles.value = [:]
        #expect(try await phone.sync().status.isCaughtUp)
        #expect(try await phone.lists() == ["list of ann", "list of ann", "new at home", "new at work"])
        #expect(try await phone.store.pendingCount() == 0)
    }

    @Test func `L4 P11 a space whose cursor is lost is received again at once, without the rows that it lacks`()
        async throws
    {
        let gone = try await server.found(home, by: "ann")
        try await server.found(work, by: "ann")
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        // No page mentions this row, as if the server had forgotten its deletion.
        let scope = try #require(try await phone.scope(of: home)).number
        let unheard = SharedList(name: "unheard", space: home)
        let layout = try #require(phone.store.layout(named: "list"))
        try await phone.store.apply { db in
            try unheard.insert(db)
            try db.execute(
                sql: """
                    INSERT INTO optimist_remote(tbl, id, generation, seq, clock, node, known, settled, scope)
                    VALUES (?, ?, 1, 1, 0, 0, -1, 0, ?)
                    """, arguments: [layout.number, unheard.id, scope])
        }
        try await server.create("list", UUID(), ["name": "new", "space": .string(home.wire)], in: home, as: "ann")
        phone.troubles.value = [home: [.cursorLost]]
        #expect(try await phone.sync().status.isCaughtUp)
        #expect(try await phone.lists() == ["list of ann", "list of ann", "new"])
        #expect(try await phone.entry("list", gone.id)?.isPending == false)
    }

    @Test func `L3 P11 if the server lost transactions of one space, only its rows are sent again`() async throws {
        let (lost, kept) = (try await server.found(home, by: "ann"), try await server.found(work, by: "ann"))
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        let number = try #require(try await phone.scope(of: home)).number
        let epochs = [RemoteEpoch(name: "m", firstSeq: 0), RemoteEpoch(name: "n", firstSeq: 1)]
        try await phone.store.rewind(phone.store.sharedTables, in: number, at: "m.2", to: epochs)
        #expect(try await phone.entry("list", lost.id)?.isRestored == true)
        #expect(try await phone.entry("list", kept.id)?.isPending == false)
        #expect(try await phone.scope(of: home)?.epochs == epochs)
        #expect(try await phone.scope(of: work)?.epochs == [])
    }

    // MARK: - The end of a person's access

    @Test func `P8 a removed person's device drops the space's rows, and its other devices learn of it`() async throws {
        let list = try await server.found(home, by: "ann")
        try await server.join(home, "bob")
        try await server.found(work, by: "bob")
        try await server.create("note", UUID(), ["text": "mine"], as: "bob")
        let (phone, pad) = (try ListPhone(server, "bob"), try ListPhone(server, "bob"))
        try await phone.sync()
        try await pad.sync()
        #expect(try await phone.lists() == ["list of ann", "list of bob"])
        try await phone.store.write { db in
            try db.execute(sql: "UPDATE list SET name = 'mine' WHERE id = ?", arguments: [list.id])
            try SharedItem(listID: list.id, text: "unsent").insert(db)
            try PersonalNote(text: "unsent too").insert(db)
        }
        try await server.remove("bob", from: home, by: "ann")
        try await phone.leave(home)
        #expect(try await phone.lists() == ["list of bob"])
        #expect(try await phone.count("item") == 0)
        #expect(try await phone.count("note") == 2)
        let rejection = try #require(try await phone.store.rejections().first)
        #expect(rejection.code == "accessRevoked")
        #expect(rejection.table == "list")
        #expect(rejection.mine["name"] == "mine")
        #expect(rejection.theirs?["name"] == "list of ann")
        #expect(rejection.dependents.map { $0.mine["text"] } == ["unsent"])
        try await phone.sync()
        #expect(try await phone.store.pendingCount() == 0)
        #expect(try await phone.scope(of: home) == nil)
        try await pad.sync()
        #expect(try await pad.lists() == ["list of bob"])
        #expect(try await pad.scope(of: home) == nil)
        #expect(try await pad.count("optimist_space") == 1)
    }

    @Test func `P8 no part of a space remains after its end, and a later membership begins again`() async throws {
        try await server.found(home, by: "ann")
        try await server.join(home, "bob")
        let phone = try ListPhone(server, "bob")
        try await phone.sync()
        let before = try #require(try await phone.scope(of: home)).number
        try await server.remove("bob", from: home, by: "ann")
        try await server.create("list", UUID(), ["name": "secret", "space": .string(home.wire)], in: home, as: "ann")
        try await phone.sync()
        try await phone.sync()
        for table in ["optimist_remote", "optimist_progress", "optimist_parked", "optimist_unseen"] {
            #expect(try await phone.count("\(table) WHERE scope = \(before)") == 0)
        }
        for table in ["list", "item", "optimist_member", "optimist_space", "optimist_rejection"] {
            #expect(try await phone.count(table) == 0, "\(table)")
        }
        try await server.rejoin(home, "bob")
        try await phone.sync()
        #expect(try await phone.lists() == ["list of ann", "secret"])
    }

    @Test func `P8 a page of a space that arrives after its end changes nothing`() async throws {
        try await server.found(home, by: "ann")
        try await server.join(home, "bob")
        let phone = try ListPhone(server, "bob")
        try await phone.sync()
        let scope = try #require(try await phone.scope(of: home)).number
        let ask = SpacePlan.Ask(scope: scope, space: home.wire, tables: ["list"], cursor: nil, isOfAllTables: false)
        let late = RemotePage(
            from: "m.0", cursor: "m.9", hasMore: false,
            rows: [
                RemotePage.Row(
                    table: "list", id: UUID().wire, content: .row(RowPatch(seq: 9, values: ["name": "late"])))
            ])
        try await phone.leave(home)
        let applied = try await phone.store.apply(
            [SpacePage(page: late, ask: ask)], initialCursor: "m.0", origins: nil, served: nil)
        #expect(applied.isEmpty)
        #expect(try await phone.lists() == [])
        // The number may belong to another space by then.
        try await server.found(work, by: "bob")
        try await phone.sync()
        #expect(try await phone.scope(of: work) != nil)
        let other = try await phone.store.apply(
            [SpacePage(page: late, ask: ask)], initialCursor: "m.0", origins: nil, served: nil)
        #expect(other.isEmpty)
    }

    @Test func `P8 a row of another scope that was moved below a row of the space returns to its place`() async throws {
        let shared = try await server.found(home, by: "ann")
        let (own, item) = (UUID(), UUID())
        try await server.create("list", own, ["name": "own"], as: "ann")
        try await server.create("item", item, ["listID": .string(own.wire), "text": "tea"], as: "ann")
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        try phone.store.transact(as: .past) { db in
            try db.execute(sql: "UPDATE item SET listID = ? WHERE id = ?", arguments: [shared.id, item])
        }
        try await phone.leave(home)
        #expect(try await phone.lists() == ["own"])
        #expect(try await phone.store.read { try UUID.fetchOne($0, sql: "SELECT listID FROM item") } == own)
        #expect(try await phone.entry("item", item)?.isPending == false)
        #expect(try await phone.store.rejections().map(\.mine) == [["listID": .string(shared.id.wire)]])
    }

    // MARK: - Unique values

    @Test func `M6 two lists in no space exchange their names in one page, and so do two lists in a space`()
        async throws
    {
        for space in [nil, home] {
            if space != nil { try await server.found(home, by: "ann") }
            let (milk, tea) = (UUID(), UUID())
            let place = space.map { JSON.string($0.wire) } ?? .null
            for (id, name) in [(milk, "milk"), (tea, "tea")] {
                try await server.create("list", id, ["name": .string(name), "space": place], in: space, as: "ann")
            }
            let phone = try ListPhone(server, "ann")
            try await phone.sync()
            try await server.set(
                ["update": .object([milk.wire: ["name": "tea"], tea.wire: ["name": "milk"]])], of: "list", in: space,
                as: "ann")
            try await phone.sync()
            #expect(try await phone.store.parkedRows().isEmpty)
            let name = "SELECT name FROM list WHERE id = ?"
            #expect(try await phone.store.read { try String.fetchOne($0, sql: name, arguments: [milk]) } == "tea")
        }
    }

    // MARK: - One id in two spaces

    /// A row with the id of a list at home.
    private func forge(_ list: SharedList, _ name: JSON = "forged") async throws {
        try await server.create("list", list.id, ["name": name, "space": .string(work.wire)], in: work, as: "eve")
    }

    @Test func `P2 a row whose id is in use in another space waits until that space ends it`() async throws {
        let list = try await server.found(home, by: "ann")
        try await server.found(work, by: "eve")
        try await server.join(work, "ann")
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        try await forge(list)
        try await phone.sync()
        let scope = try #require(try await phone.scope(of: home)).number
        #expect(try await phone.lists() == ["list of ann", "list of eve"])
        #expect(try await phone.entry("list", list.id)?.remote.scope == scope)
        #expect(try await phone.store.parkedRows().map(\.reason) == [.idInOtherSpace])
        let states = "SELECT state FROM optimist_state_list WHERE id = ?"
        #expect(try await phone.store.read { try String.fetchAll($0, sql: states, arguments: [list.id]) } == ["synced"])
        // Neither an edit nor an end of the other row touches this one.
        try await server.set(
            ["update": .object([list.id.wire: ["name": "forged again"]])], of: "list", in: work, as: "eve")
        try await phone.sync()
        #expect(try await phone.lists() == ["list of ann", "list of eve"])
        try await server.delete("list", list.id, in: home, as: "ann")
        try await phone.sync()
        #expect(try await phone.lists() == ["forged again", "list of eve"])
        #expect(try await phone.store.parkedRows().isEmpty)
        #expect(try await phone.entry("list", list.id)?.remote.scope == phone.scope(of: work)?.number)
    }

    @Test func `P2 P3 a row below such a row waits with it`() async throws {
        let list = try await server.found(home, by: "ann")
        try await server.found(work, by: "eve")
        try await server.join(work, "ann")
        let phone = try ListPhone(server, "ann")
        try await phone.sync()
        try await forge(list)
        try await server.create("item", UUID(), ["listID": .string(list.id.wire), "text": "x"], in: work, as: "eve")
        try await phone.sync()
        #expect(try await phone.count("item") == 0)
        try await server.delete("list", list.id, in: home, as: "ann")
        try await phone.sync()
        #expect(try await phone.lists() == ["forged", "list of eve"])
        #expect(try await phone.count("item") == 1)
        #expect(try await phone.store.parkedRows().isEmpty)
    }

    @Test func `P2 a row whose id is in use in another space can end there without a trace`() async throws {
        let list = try await server.found(home, by: "ann")
        try await server.found(work, by: "eve")
        try await server.join(work, "ann")
        let phone = try ListPhone(server, "ann")
        try await forge(list)
        try await phone.sync()
        try await server.delete("list", list.id, in: work, as: "eve")
        try await phone.sync()
        #expect(try await phone.lists() == ["list of ann", "list of eve"])
        try await server.delete("list", list.id, in: home, as: "ann")
        try await phone.sync()
        #expect(try await phone.lists() == ["list of eve"])
        #expect(try await phone.store.parkedRows().isEmpty)
    }

    @Test func `P2 P8 when the access to the space of a row ends, the row of the other space is shown`() async throws {
        let list = try await server.found(home, by: "ann")
        try await server.found(work, by: "eve")
        try await server.join(home, "bob")
        try await server.join(work, "bob")
        let phone = try ListPhone(server, "bob")
        try await phone.sync()
        try await forge(list)
        try await phone.sync()
        #expect(try await phone.lists() == ["list of ann", "list of eve"])
        try await server.remove("bob", from: home, by: "ann")
        try await phone.leave(home)
        #expect(try await phone.lists() == ["forged", "list of eve"])
    }
}

extension ListPhone {
    /// Takes the news that the person was removed from a space.
    fileprivate func leave(_ space: UUID) async throws {
        let number = try #require(try await scope(of: space)).number
        try await store.leaveScope(number, of: space.wire, EndedAccess(.removed))
    }
}

extension InMemoryServer {
    /// Admits a removed person again. The person's row of the space begins another life.
    fileprivate func rejoin(_ space: UUID, _ person: String) async throws { try await join(space, person) }
}
