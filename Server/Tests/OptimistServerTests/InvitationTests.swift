// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Joining a space with the secret of an invitation.
@Suite(.timeLimit(.minutes(20)))
struct InvitationTests {
    typealias Kind = StoresTests.Kind

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    static let row = RowKey.id(0x101)
    private static let invalid = [ServedSpace.bobRow: "invitationInvalid"]

    /// A space of Ann with one invitation.
    func server(
        _ kind: Kind, role: String = "writer", _ more: JSONObject = [:],
        now: @escaping @Sendable () -> Date = { ServedSpace.now }
    ) async throws -> ServedSpace {
        let server = try await ServedSpace(kind, at: place, now: now)
        _ = try await server.found()
        #expect(try await server.invite(role: role, more) == [:])
        return server
    }

    // MARK: - Joining

    @Test func `P9 a ticket is still valid after the app's schema has changed`() async throws {
        _ = try await server(.durable)
        var later = ServedSpace.schema
        later.version += 1
        later.types["Memo"]?.columns["title"] = ColumnSchema(.string)
        later.types["Memo"]?.uniqueIndexes = [UniqueIndex(["title"])]
        let server = try await ServedSpace(.durable, at: place, schema: later, epoch: "e2")
        #expect(try server.refusals(try await server.send([server.joining()], as: "bob", push: 1)[0]) == [:])
    }

    @Test func `P9 a later schema rebuilds the index with the hashes of invitations`() throws {
        let site = try StoreFile()
        let opened = try site.open(epoch: "e1", accounts: ["a"])
        let clock = WriteClock(stamp: Stamp(milliseconds: 1, counter: 0), device: "ann")
        let row = RowPatch(
            generation: 1, clocks: ColumnClocks(common: clock), values: ["hash": .string(ServedSpace.secret(1).hash)])
        try opened.database.pool.write { db in
            let columns = try db.columns(in: "optimist_rows").filter { $0.isNotNull && $0.defaultValueSQL == nil }
            let known: [String: any DatabaseValueConvertible] = [
                "account_id": "a", "type": "optimist_invitation", "id": Self.row, "generation": 1,
                "content": JSON.object(row.json(id: Self.row)).description,
            ]
            let values = columns.map { known[$0.name] ?? 0 }
            try db.execute(
                sql: """
                    INSERT INTO optimist_rows(\(columns.map(\.name).joined(separator: ", ")))
                    VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
                    """, arguments: StatementArguments(values))
            try RowIndex.keepUp(with: ServedSpace.schema, db)
            let found = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM optimist_index WHERE type = 'optimist_invitation'")
            #expect(found == 1)
        }
    }

    @Test(arguments: Kind.allCases)
    func `P9 a ticket makes a member with the invitation's role, for the whole push`(kind: Kind) async throws {
        let server = try await server(kind)
        let answers = try await server.send(
            [
                server.call("List/set", ServedSpace.lists(1)), server.joining(role: "owner"),
                server.call(
                    "\(server.types.space)/set", ["create": [ServedSpace.space: ["name": "Home"]]], in: "bob"),
            ], as: "bob", push: 1)
        #expect(try answers.map { try server.refusals($0) } == [[:], [:], [:]])
        // The device learns the role that it has.
        #expect(answers[1].arguments["created"]?[ServedSpace.bobRow]?["role"] == "writer")
        #expect(try await server.memberships() == ["ann": .owner, "bob": .writer])
        #expect(try await server.rows("List") == 1)
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 1)
    }

    @Test(arguments: Kind.allCases)
    func `P9 a secret is not stored, and other members do not receive it`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.join()
        let secret = ServedSpace.secret(1).text
        #expect(try await server.row(server.types.member, ServedSpace.bobRow)["ticket"] == nil)
        for type in [server.types.member, server.types.invitation] {
            let answer = try await server.send([server.call("\(type)/get", ["ids": .null])], as: "ann")[0]
            #expect(!JSON.object(answer.arguments).description.contains(secret))
        }
        #expect("\(ServedSpace.secret(1))" == "(secret)")
        let hash = SHA256.hash(Array(repeating: 1, count: InvitationSecret.byteCount))
        #expect(ServedSpace.secret(1).hash == Base64URL.encode(hash))
        // Also not from a member row whose person is a member already, or from a later write.
        let update: JSONObject = ["update": [ServedSpace.bobRow: ["ticket": .string(secret), "name": "B"]]]
        #expect(try await server.set(server.types.member, update, as: "bob") == [:])
        #expect(try await server.row(server.types.member, ServedSpace.bobRow)["ticket"] == nil)
    }

    @Test(arguments: Kind.allCases)
    func `P9 a ticket admits as many persons as the invitation has uses`(kind: Kind) async throws {
        let server = try await server(kind)
        #expect(try await server.join() == [:])
        // A repeated push and a second row of a member neither count as a use nor change the role.
        #expect(try await server.join() == [:])
        #expect(try await server.join(row: RowKey.id(0xB2)) == [:])
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 1)
        #expect(try await server.join(as: "eve", row: RowKey.id(0xE)) == [RowKey.id(0xE): "invitationInvalid"])
        let raise: JSONObject = ["update": [Self.row: ["uses": 2]]]
        #expect(try await server.set(server.types.invitation, raise, as: "ann") == [:])
        #expect(try await server.join(as: "eve", row: RowKey.id(0xE)) == [:])
        #expect(try await server.memberships() == ["ann": .owner, "bob": .writer, "eve": .writer])
    }

    @Test(arguments: Kind.allCases)
    func `P9 an invitation ends at its time, by the server's clock`(kind: Kind) async throws {
        let clock = Mutex(ServedSpace.now)
        let server = try await server(kind, now: { clock.withLock { $0 } })
        let end = try await server.row(server.types.invitation, Self.row)["endsAt"]
        #expect(end == .string(ServedSpace.now.addingTimeInterval(7 * 86_400).formatted(.iso8601)))
        clock.withLock { $0 += 7 * 86_400 }
        #expect(try await server.join() == Self.invalid)
        clock.withLock { $0 -= 1 }
        #expect(try await server.join() == [:])
    }

    @Test(arguments: Kind.allCases)
    func `P9 a deleted invitation is revoked, and its secret can be invited again`(kind: Kind) async throws {
        let server = try await server(kind)
        _ = try await server.set(server.types.invitation, ["destroy": [.string(Self.row)]], as: "ann")
        #expect(try await server.join() == Self.invalid)
        let again: JSONObject = ["create": [RowKey.id(0x1F): server.invitation(ServedSpace.secret(1))]]
        #expect(try await server.set(server.types.invitation, again, as: "ann") == [:])
        #expect(try await server.join() == [:])
    }

    @Test(arguments: Kind.allCases)
    func `P9 a person who was removed needs an invitation made since`(kind: Kind) async throws {
        let server = try await server(kind, ["uses": 10])
        _ = try await server.join()
        _ = try await server.set(server.types.member, ["destroy": [.string(ServedSpace.bobRow)]], as: "ann")
        let second = RowKey.id(0xB2)
        #expect(try await server.join(row: second) == [second: "invitationInvalid"])
        #expect(try await server.invite(2) == [:])
        #expect(try await server.join(2, row: second) == [:])
        // A person who left may use any open invitation to the same role.
        _ = try await server.set(server.types.member, ["destroy": [.string(second)]], as: "bob")
        #expect(try await server.join(row: RowKey.id(0xB3)) == [:])
        #expect(try await server.memberships() == ["ann": .owner, "bob": .writer])
    }

    @Test(arguments: Kind.allCases)
    func `P9 a person whose role was lowered does not get it back by leaving and joining again`(
        kind: Kind
    ) async throws {
        let server = try await server(kind, ["uses": 10])
        _ = try await server.join()
        let lower: JSONObject = ["update": [ServedSpace.bobRow: ["role": "reader"]]]
        #expect(try await server.set(server.types.member, lower, as: "ann") == [:])
        _ = try await server.set(server.types.member, ["destroy": [.string(ServedSpace.bobRow)]], as: "bob")
        let second = RowKey.id(0xB2)
        #expect(try await server.join(row: second) == [second: "invitationInvalid"])
        #expect(try await server.invite(2, role: "reader") == [:])
        #expect(try await server.join(2, row: second) == [:])
        #expect(try await server.memberships() == ["ann": .owner, "bob": .reader])
        // An invitation made since shows that the owner has changed their mind.
        _ = try await server.set(server.types.member, ["destroy": [.string(second)]], as: "bob")
        #expect(try await server.invite(3) == [:])
        #expect(try await server.join(3, row: RowKey.id(0xB3)) == [:])
        #expect(try await server.memberships() == ["ann": .owner, "bob": .writer])
    }

    @Test(arguments: Kind.allCases)
    func `a space that has ended cannot be joined`(kind: Kind) async throws {
        let server = try await server(kind, role: "owner")
        _ = try await server.set(server.types.member, ["destroy": [.string(ServedSpace.annRow)]], as: "ann")
        #expect(try await server.join() == Self.invalid)
    }

    // MARK: - Strangers

    @Test(arguments: Kind.allCases)
    func `P7 without a valid ticket, the answers are the same for a space and a missing account`(
        kind: Kind
    ) async throws {
        let server = try await server(kind)
        _ = try await server.set("List", ServedSpace.lists(1), as: "ann")
        let other = RowKey.id(0xDEF)
        let none = try #require(SpaceAccount.id(ofSpace: other))
        func answers(_ account: String, _ space: String, push: Int64?) async throws -> [String] {
            let calls = [
                server.joining(9, in: account, space: space),
                server.call("List/set", ServedSpace.lists(2, space), in: account),
                server.call("List/set", ["update": [RowKey.list(1).id: ["name": "x"]]], in: account),
                server.call("List/get", ["ids": .null], in: account),
                server.call("List/changes", ["sinceState": "e1.0"], in: account),
            ]
            return try await server.send(calls, as: "eve", push: push).map {
                JSON.object($0.arguments).description.replacing(account, with: "A")
            }
        }
        for push in [nil, Int64(1)] {
            let found = try await answers(ServedSpace.account, ServedSpace.space, push: push)
            #expect(found == (try await answers(none, other, push: push)))
            #expect(found[0].contains("invitationInvalid") && found[1].contains("blocked"))
            #expect(found[3].contains("accountNotFound") && found[4].contains("accountNotFound"))
        }
        #expect(try await server.store.accounts(after: nil, limit: 9).count == 4)
        #expect(try await server.memberships() == ["ann": .owner])
    }

    @Test(arguments: Kind.allCases)
    func `P7 a ticket opens nothing to a person who does not become a member with it`(kind: Kind) async throws {
        let server = try await server(kind, role: "reader")
        _ = try await server.set("List", ServedSpace.lists(1), as: "ann")
        // The member row is refused, because it names another space.
        let calls = [
            server.joining(space: RowKey.id(0xDEF)), server.call("List/get", ["ids": .null]),
            server.call("List/set", ["update": [RowKey.list(1).id: ["name": "x"]]]),
        ]
        for push in [nil, Int64(1)] {
            let answers = try await server.send(calls, as: "bob", push: push)
            #expect(try server.refusals(answers[0]) == [ServedSpace.bobRow: "crossesSpaces"])
            #expect(answers[1].arguments["type"] == "accountNotFound")
            #expect(answers[2].arguments["notUpdated"]?[RowKey.list(1).id]?["current"] == nil)
        }
        #expect(try await server.memberships() == ["ann": .owner])
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 0)
    }

    // MARK: - The invitation's row

    @Test(arguments: Kind.allCases)
    func `P9 the server counts the uses, whatever an owner writes`(kind: Kind) async throws {
        let server = try await server(kind, ["used": 5, "uses": 2])
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 0)
        _ = try await server.join()
        let update = server.call("\(server.types.invitation)/set", ["update": [Self.row: ["used": 0, "label": "x"]]])
        let answer = try await server.send([update], as: "ann", push: 1)[0]
        #expect(answer.arguments["updated"]?[Self.row]?["used"] == 1)
        #expect(try await server.row(server.types.invitation, Self.row)["used"] == 1)
    }

    @Test(arguments: Kind.allCases)
    func `an invitation's uses, end and hash have limits`(kind: Kind) async throws {
        let server = try await ServedSpace(kind, at: place)
        _ = try await server.found()
        let late = ServedSpace.now.addingTimeInterval(367 * 86_400).formatted(.iso8601)
        let bad: [JSONObject] = [
            ["uses": 0], ["uses": 10_001], ["endsAt": .string(late)], ["hash": "AAAA"], ["hash": .null],
        ]
        for more in bad {
            #expect(try await server.invite(1, more) == [Self.row: "invalidProperties"], "\(more)")
        }
        #expect(try await server.invite(1, ["uses": 10_000]) == [:])
        #expect(
            try await server.invite(2, ["hash": .string(ServedSpace.secret(1).hash)]).values.first == "uniqueViolation")
    }

    // MARK: - Limits

    @Test(arguments: Kind.allCases)
    func `a space has at most so many members, invitations and rows`(kind: Kind) async throws {
        var limits = SpaceLimits()
        (limits.members, limits.invitations, limits.rows) = (2, 1, 5)
        let server = try await ServedSpace(kind, at: place, limits: limits)
        _ = try await server.found()
        _ = try await server.invite(1, ["uses": 9])
        #expect(try await server.invite(2) == [RowKey.id(0x102): "spaceLimit"])
        _ = try await server.join()
        #expect(try await server.join(as: "eve", row: RowKey.id(0xE)) == [RowKey.id(0xE): "spaceLimit"])
        for number in 1...2 { #expect(try await server.set("List", ServedSpace.lists(number), as: "bob") == [:]) }
        #expect(try await server.set("List", ServedSpace.lists(3), as: "bob") == [RowKey.list(3).id: "overQuota"])
        let update: JSONObject = ["update": [RowKey.list(1).id: ["name": "x"]]]
        #expect(try await server.set("List", update, as: "bob") == [:])
        _ = try await server.set("List", ["destroy": [.string(RowKey.list(1).id)]], as: "bob")
        #expect(try await server.set("List", ServedSpace.lists(3), as: "bob") == [:])
        let counted = try await server.store.read(account: ServedSpace.account, as: .operator) { $0.rowCount }
        #expect(counted == 5)
    }

    @Test(arguments: Kind.allCases)
    func `a person enters and founds at most so many spaces`(kind: Kind) async throws {
        var limits = SpaceLimits()
        (limits.spaces, limits.ownedSpaces) = (2, 1)
        let server = try await ServedSpace(kind, at: place, limits: limits)
        _ = try await server.found()
        _ = try await server.invite(1, ["uses": 9])
        func found(_ number: Int) async throws -> [String: String] {
            let space = RowKey.id(number)
            let row: JSON = ["space": .string(space), "role": "owner"]
            return try await server.set(
                server.types.member, ["create": [RowKey.id(number + 1): row]], as: "bob",
                in: SpaceAccount.id(ofSpace: space) ?? "")
        }
        #expect(try await found(0xD00) == [:])
        #expect(try await found(0xD10) == [RowKey.id(0xD11): "spaceLimit"])
        #expect(try await server.join() == [:])
        for number in 1...2 {
            let row: JSONObject = ["create": [RowKey.id(0xF0 + number): ["name": "s"]]]
            #expect(try await server.set(server.types.space, row, as: "eve", in: "eve") == [:])
        }
        let third = try await server.set(
            server.types.space, ["create": [RowKey.id(0xF3): ["name": "s"]]], as: "eve", in: "eve")
        #expect(third == [RowKey.id(0xF3): "spaceLimit"])
    }
}
