// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistWire

/// Where the rows of a push go.
@Suite(.timeLimit(.minutes(20)))
struct SpacePushTests {
    private let device: Device
    private var store: Store { device.store }

    init() throws { device = try ShoppingLists.device() }

    private func accept(_ batch: PushBatch, seq: Int64 = 1) async throws {
        _ = try await store.apply(batch.sent.map { _ in .accepted(seq: seq) }, of: batch)
    }

    @Test func `P1 a new space is a row of the person and a member row in the space, sent together`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        #expect(space.role == .owner && !space.isJoined && space.mayWrite)
        let batch = try #require(try await device.next())
        #expect(batch.push.rows.map(\.table) == ["optimist_space", "optimist_member"])
        #expect(batch.push.rows.map(\.space) == [nil, space.id.wire])
        #expect(batch.push.groups == [0..<2])
        let member = try #require(batch.push.rows[1].change.created)
        #expect(member.values["role"] == "owner" && member.values["space"] == .string(space.id.wire))
        try await accept(batch)
        #expect(try await store.read { try Space.fetchAll($0).map(\.isJoined) } == [true])
    }

    @Test func `P3 a row is sent to the space of its root`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        try await accept(try #require(try await device.next()))
        let (shared, mine) = (ShoppingList(title: "Groceries", space: space.id), ShoppingList(title: "Mine"))
        try await store.write { db in
            for list in [shared, mine] {
                try list.insert(db)
                try ShoppingItem(listID: list.id, title: "Milk").insert(db)
            }
        }
        let batch = try #require(try await device.next())
        let spaces = Dictionary(grouping: batch.push.rows, by: \.space).mapValues { $0.map(\.table) }
        #expect(spaces == [nil: ["list", "item"], space.id.wire: ["list", "item"]])
    }

    @Test func `P2 a row stays where it was first sent, whatever its answer`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        try await accept(try #require(try await device.next()))
        let list = ShoppingList(title: "Groceries", space: space.id)
        try await store.write { try list.insert($0) }
        let first = try #require(try await device.next())
        try await store.pushEnded(first)
        let id = list.id.databaseValue
        let scope = try await store.read { db in
            try Int64.fetchOne(db, sql: "SELECT scope FROM optimist_remote WHERE id = ?", arguments: [id])
        }
        #expect(scope != nil && scope != Scope.personal)
        try await store.write { try $0.execute(sql: "UPDATE list SET title = 'Food'") }
        let second = try #require(try await device.next())
        #expect(second.push.rows.map(\.space) == [space.id.wire])
    }

    @Test func `P3 a row that refers to a row which others have moved to another space is kept as a rejection`()
        async throws
    {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let (list, aisle) = (
            ShoppingList(title: "Groceries", space: space.id), Aisle(name: "Dairy", space: space.id)
        )
        try await store.write { db in
            try list.insert(db)
            try aisle.insert(db)
        }
        while let batch = try await device.next() { try await accept(batch) }
        let item = ShoppingItem(listID: list.id, title: "Milk", aisleID: aisle.id)
        try await store.write { try item.insert($0) }
        let batch = try #require(try await device.next())
        let blocked = RemotePush.Verdict.blocked(by: "aisle:\(aisle.id.wire)")
        _ = try await store.apply([blocked], of: batch)
        #expect(try await store.rejections().isEmpty, "the device believes that the space has the aisle")
        device.advance(40_000)
        let again = try #require(try await device.next())
        try await store.apply { db in
            try db.execute(
                sql: "UPDATE optimist_remote SET scope = 0 WHERE id = ?", arguments: [aisle.id.databaseValue])
            try db.execute(sql: "UPDATE aisle SET space = NULL")
        }
        _ = try await store.apply([blocked], of: again)
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.code == "crossesSpaces" && rejection.mine["title"] == "Milk")
        #expect(try await device.next() == nil)
    }

    @Test func `P12 an answer about a move counts only if both accounts are known in its epoch`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let list = ShoppingList(title: "Groceries", space: space.id)
        try await store.write { try list.insert($0) }
        while let batch = try await device.next() { try await accept(batch) }
        try await store.write { try $0.execute(sql: "UPDATE list SET space = NULL") }
        let batch = try #require(try await device.next())
        let sent = try #require(batch.sent.first)
        let source = try #require(sent.source)
        for (here, there, isBelieved) in [("n", "e", false), ("e", "n", false), ("n", "n", true)] {
            try await store.apply { db in
                for (scope, epoch) in [(sent.scope, here), (source, there)] {
                    try Scope.update(scope, in: db) { $0.epochs = [RemoteEpoch(name: epoch, firstSeq: 0)] }
                }
            }
            var answer = RemotePush.Answer([.gone(seq: 1, nil)])
            answer.epoch = "n"
            let verdicts = try await store.believable(answer, of: batch)
            #expect(verdicts.map(\.isGone) == [isBelieved])
        }
    }

    @Test func `P3 a move ends if a row that it takes along refers to a row that stays`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let list = ShoppingList(title: "Groceries", space: space.id)
        let aisle = Aisle(name: "Dairy", space: space.id)
        let item = ShoppingItem(listID: list.id, title: "Milk")
        try await store.write { db in
            try list.insert(db)
            try aisle.insert(db)
            try item.insert(db)
        }
        while let batch = try await device.next() { try await accept(batch) }
        try await store.write { try $0.execute(sql: "UPDATE list SET space = NULL") }
        // Another person's write arrives.
        try await store.apply { db in
            try db.execute(sql: "UPDATE item SET aisleID = ?", arguments: [aisle.id])
        }
        let batch = try #require(try await device.next())
        #expect(batch.push.rows.map(\.table) == ["list", "item"])
        _ = try await store.apply(
            [
                .groupFailed(by: [batch.push.rows[1].name], current: nil),
                .blocked(by: "aisle:\(aisle.id.wire)"),
            ], of: batch)
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.code == "crossesSpaces" && rejection.table == "list")
        #expect(try await store.read { try ShoppingList.fetchOne($0)?.space } == space.id)
        #expect(try await device.next() == nil)
    }

    @Test func `P4 a move that a row below it cannot make is refused without that row's values`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let list = ShoppingList(title: "Groceries", space: space.id)
        try await store.write { db in
            try list.insert(db)
            try ShoppingItem(listID: list.id, title: "Milk").insert(db)
        }
        while let batch = try await device.next() { try await accept(batch) }
        try await store.write { try $0.execute(sql: "UPDATE list SET space = NULL") }
        let batch = try #require(try await device.next())
        let item = RowPatch(
            generation: 5, clocks: ColumnClocks(common: WriteClock(stamp: .zero, device: "server")), seq: 9,
            values: ["title": "Milk"])
        _ = try await store.apply(
            [
                .groupFailed(by: [batch.push.rows[1].name], current: nil),
                .rejected(
                    RemotePush.Refusal(code: "uniqueViolation", message: "Taken.", current: item, columns: ["title"])),
            ], of: batch)
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.code == "uniqueViolation" && rejection.table == "list")
        #expect(try await store.read { try ShoppingList.fetchOne($0)?.title } == "Groceries")
        #expect(try await store.read { try ShoppingList.fetchOne($0)?.space } == space.id)
        #expect(try await device.next() == nil)
    }

    @Test func `P12 a move ends if a restored server keeps a row there that the device has elsewhere`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let list = ShoppingList(title: "Groceries", space: space.id)
        let item = ShoppingItem(listID: list.id, title: "Milk")
        try await store.write { db in
            try list.insert(db)
            try item.insert(db)
        }
        while let batch = try await device.next() { try await accept(batch) }
        try await store.write { try $0.execute(sql: "UPDATE list SET space = NULL") }
        let source = try await #require(device.next()?.sent.first?.source)
        try await store.apply { db in
            try db.execute(
                sql: "UPDATE optimist_remote SET scope = 0 WHERE id = ?", arguments: [item.id.databaseValue])
            try Scope.update(source, in: db) { scope in
                scope.epochs = ["e", "n"].map { RemoteEpoch(name: $0, firstSeq: 0) }
            }
        }
        for attempt in 1...4 {
            let batch = try #require(try await device.next())
            #expect(batch.push.rows.map(\.table) == ["list"])
            #expect(try await store.rejections().isEmpty, "attempt \(attempt)")
            _ = try await store.apply([.leaves(["item:\(item.id.wire)"])], of: batch)
            device.advance(60_000)
        }
        #expect(try await store.rejections().map(\.code) == ["leavesRows"])
        #expect(try await device.next() == nil)
    }

    @Test func `S5 a move waits if a row that it takes along is put off`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let list = ShoppingList(title: "Groceries", space: space.id)
        try await store.write { db in
            try list.insert(db)
            try ShoppingItem(listID: list.id, title: "Milk").insert(db)
        }
        while let batch = try await device.next() { try await accept(batch) }
        try await store.write { try $0.execute(sql: "UPDATE list SET space = NULL") }
        for pause: Int64 in [5_000, 10_000, 20_000] {
            let batch = try #require(try await device.next())
            #expect(batch.push.rows.map(\.table) == ["list", "item"])
            _ = try await store.apply(
                [
                    .groupFailed(by: [batch.push.rows[1].name], current: nil),
                    .retry(after: nil, DeferralReason("behind")),
                ], of: batch)
            device.advance(pause - 1)
            #expect(try await device.next() == nil)
            device.advance(1)
        }
        #expect(try await device.next() != nil)
    }

    @Test func `P5 a transaction over more than eight spaces is sent in parts`() async throws {
        var spaces: [Space.ID] = []
        for number in 0..<9 { spaces.append(try await store.createSpace(named: "\(number)", as: "Ann").id) }
        while let batch = try await device.next() { try await accept(batch) }
        let all = spaces
        try await store.write { db in
            for space in all { try ShoppingList(title: "List", space: space).insert(db) }
        }
        let first = try #require(try await device.next())
        #expect(Set(first.push.rows.map(\.space)).count == RowSync.Limit.accountsInSet)
        try await accept(first)
        let second = try #require(try await device.next())
        #expect(second.push.rows.count == 1)
    }

    @Test func `P16 rows of an app without spaces are sent as before`() async throws {
        let phone = try Phone()
        try await phone.store.write { try Todo(content: "Milk").insert($0) }
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        let call = PushCall(batch.push, account: "a1", schemaVersion: 1)
        #expect(call.request.methodCalls.map { $0.arguments["accountId"] } == ["a1"])
        let tables = try await phone.store.read { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name GLOB 'optimist_member*'")
        }
        #expect(tables.isEmpty)
    }

    private func join() async throws -> (link: InvitationLink, batch: PushBatch, receipt: Receipt) {
        let link = InvitationLink(space: UUID(), secret: .random())
        let (space, receipt) = try await store.accept(link, as: "Bob")
        #expect(!space.isJoined && space.id == link.space)
        return (link, try #require(try await device.next()), receipt)
    }

    private func refuse(_ batch: PushBatch) async throws {
        let refusal = RemotePush.Refusal(code: "invitationInvalid", message: "The invitation is not valid.")
        _ = try await store.apply(
            [.groupFailed(by: [batch.push.rows[1].name], current: nil), .rejected(refusal)], of: batch)
    }

    @Test func `P1 a link that the server does not know yet is tried for a day, then refused with its space`()
        async throws
    {
        let (link, batch, receipt) = try await join()
        #expect(batch.push.rows[1].change.created?.values["ticket"] == .string(link.secret.text))
        try await refuse(batch)
        #expect(try await store.rejections().isEmpty)
        #expect(try await store.read { try Space.fetchCount($0) } == 1)
        device.advance(25 * 3_600_000)
        try await refuse(try #require(try await device.next()))
        let rejections = try await store.rejections(awaiting: receipt)
        #expect(rejections.map(\.code) == ["invitationInvalid"])
        #expect(rejections.flatMap(\.dependents).map(\.table) == ["optimist_space"])
        #expect(try await store.read { try Space.fetchCount($0) } == 0)
    }

    @Test func `P1 a second tap on a link changes nothing, and a second link replaces the first`() async throws {
        let link = InvitationLink(space: UUID(), secret: .random())
        _ = try await store.accept(link, as: "Bob")
        _ = try await store.accept(link, as: "Bob")
        #expect(try await store.read { try MemberRow.fetchCount($0) } == 1)
        let other = InvitationLink(space: link.space, secret: .random())
        _ = try await store.accept(other, as: "Bob")
        #expect(try await store.read { try MemberRow.fetchAll($0).map(\.ticket) } == [other.secret.text])
        #expect(try await store.read { try Space.fetchCount($0) } == 1)
    }

    @Test func `P1 a joined space has the given name, unless it has a name already`() async throws {
        let link = InvitationLink(space: UUID(), secret: .random())
        #expect(try await store.accept(link, as: "Bob").space.name == nil)
        #expect(try await store.accept(link, as: "Bob", named: "Groceries").space.name == "Groceries")
        #expect(try await store.accept(link, as: "Bob", named: "Home").space.name == "Groceries")
        let other = InvitationLink(space: UUID(), secret: .random())
        #expect(try await store.accept(other, as: "Bob", named: "Home").space.name == "Home")
        let batch = try #require(try await device.next())
        let names = batch.push.rows.compactMap { $0.change.created?.values["name"]?.string }
        #expect(names.contains("Groceries"))
    }

    @Test func `P6 setRole, remove and transfer throw for a member that the device does not have, and write nothing`()
        async throws
    {
        let home = try await store.createSpace(named: "Home", as: "Ann")
        let work = try await store.createSpace(named: "Work", as: "Ann")
        let own = try #require(work.member)
        let writes: [() async throws -> Void] = [
            { try await store.setRole(of: UUID(), to: .reader) }, { try await store.remove(UUID()) },
            { try await store.transfer(home.id, to: UUID()) }, { try await store.transfer(home.id, to: own) },
        ]
        for write in writes {
            let error = await #expect(throws: OptimistError.self) { try await write() }
            #expect(error?.code == .unknownMember)
        }
        let roles = try await store.read { try MemberRow.fetchAll($0).map(\.role) }
        #expect(roles == ["owner", "owner"])
    }

    @Test func `a link is read from its URL and its code, and from no other text`() throws {
        let link = InvitationLink(space: UUID(), secret: .random())
        let url = link.url(at: try #require(URL(string: "https://example.org/app")))
        #expect(url.absoluteString.hasPrefix("https://example.org/app/join#"))
        #expect(InvitationLink(url) == link)
        #expect(InvitationLink(code: link.code) == link)
        #expect(link.code.utf8.count == 64)
        #expect(!"\(link)".contains(link.secret.text))
        for text in ["", "abc", String(link.code.dropLast()), link.code + "A"] {
            #expect(InvitationLink(code: text) == nil)
        }
        #expect(InvitationLink(try #require(URL(string: "https://example.org/other#\(link.code)"))) == nil)
    }

    @Test func `P9 the secret of an invitation stays on the device that made it`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let invitation = try await store.invite(to: space.id, as: .reader, label: "Groceries")
        let link = try #require(invitation.link)
        let sent = try await device.next()?.push.rows.first { $0.table == "optimist_invitation" }
        let values = try #require(sent?.change.created?.values)
        #expect(values["hash"] == .string(link.secret.hash))
        #expect(!values.description.contains(link.secret.text))
        #expect(try await store.read { try SpaceInvitation.of(space.id).fetchAll($0).map(\.link) } == [link])
        try await store.revoke(invitation.id)
        #expect(try await store.read { try SpaceInvitation.fetchCount($0) } == 0)
    }

    @Test func `V5 the rows of a space that the server does not let the person found become rejections`() async throws {
        let space = try await store.createSpace(named: "Home", as: "Ann")
        let list = ShoppingList(title: "Groceries", space: space.id)
        try await store.write { try list.insert($0) }
        let batch = try #require(try await device.next())
        let member = try #require(batch.push.rows.first { $0.table == "optimist_member" }).name
        let verdicts = batch.push.rows.map { row -> RemotePush.Verdict in
            switch row.table {
            case "optimist_member": .rejected(RemotePush.Refusal(code: "spaceLimit", message: "Too many spaces."))
            case "optimist_space": .groupFailed(by: [member], current: nil)
            default: .blocked(by: member)
            }
        }
        _ = try await store.apply(verdicts, of: batch)
        #expect(Set(try await store.rejections().map(\.code)) == ["spaceLimit", "accessRevoked"])
        #expect(try await store.read { try ShoppingList.fetchCount($0) } == 0)
        #expect(try await store.read { try Space.fetchCount($0) } == 0)
        device.advance(3_600_000)
        #expect(try await device.next() == nil)
        await #expect(throws: OptimistError.self) { try await store.write { try list.insert($0) } }
    }
}
