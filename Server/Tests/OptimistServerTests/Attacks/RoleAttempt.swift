// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

@testable import OptimistServer

/// One write of a member, and the answer that the member's role gets.
struct RoleAttempt: Sendable {
    enum Expected: Hashable, Sendable {
        case allowed
        /// All its rows are refused with one of these codes, and nothing changes.
        case refused(Set<String>)

        static func code(_ code: String) -> Self { .refused([code]) }
    }

    var attempt: Attempt
    var expected: Expected

    /// The writes of a reader or a writer, in an order in which each is possible.
    ///
    /// - Parameter own: The sender's member row.
    static func all(of role: AttackScene.Role, own: String) -> [RoleAttempt] {
        let rows: Expected = role == .writer ? .allowed : .code("roleForbids")
        return [ofRows(rows), ofMembers(own), ofInvitations(), ofMoves(rows), ofOtherSpaces()].flatMap(\.self)
    }

    private static func write(
        _ name: String, _ expected: Expected, _ type: String,
        _ arguments: @escaping @Sendable (AttackedSpace, Attempt.Sender) -> JSONObject
    ) -> [RoleAttempt] {
        Attempt("\(type) \(name)") { space, sender in [space.call("\(type)/set", arguments(space, sender))] }
            .inBothForms
            .map { RoleAttempt(attempt: $0, expected: expected) }
    }

    // MARK: - The app's rows

    private static func ofRows(_ expected: Expected) -> [RoleAttempt] {
        let (list, todo) = (AttackedSpace.list, AttackedSpace.todo)
        let outside: Set<String> = ["crossesSpaces", "roleForbids"]
        var all = write("create", expected, "List") { ["create": [$1.row: .object($0.values("List", "me"))]] }
        all += write("update", expected, "List") { ["update": [list: ["name": .string($1.row)]]] }
        all += write("create", expected, "Todo") { ["create": [$1.row: .object($0.values("Todo", "me"))]] }
        all += write("update", expected, "Todo") { ["update": [todo: ["content": .string($1.row)]]] }
        all += write("create over a known row", expected, "Todo") {
            ["create": [todo: ["content": .string($1.row), "listId": .string(list)]]]
        }
        all += write("of another space", .refused(outside), "List") { space, sender in
            ["create": [sender.row: .object(AttackedSpace.club.values("List", "me"))]]
        }
        all += write("without a space", .refused(outside), "List") { space, sender in
            ["create": [sender.row: ["name": "me"]]]
        }
        all += write("of a personal type", .refused(outside), "Memo") { space, sender in
            ["create": [sender.row: ["text": "me"]]]
        }
        all += write("in the space", .refused(outside), "optimist_space") { space, sender in
            ["create": [AttackedSpace.club.space: ["name": "me"]]]
        }
        all += write("destroy", expected, "Todo") { _, _ in ["destroy": [.string(todo)]] }.prefix(1)
        return all + group(expected)
    }

    /// A group with an own row and a row of the space.
    private static func group(_ expected: Expected) -> [RoleAttempt] {
        var attempt = Attempt("a group over an own list and a list of the space") { space, sender in
            [
                Invocation(
                    "List/set", ["accountId": .string(sender.account), "create": [sender.row: ["name": "own"]]],
                    callID: "0"),
                space.call("List/set", ["update": [AttackedSpace.list: ["name": .string(sender.row + "g")]]]),
            ]
        }
        (attempt.isPush, attempt.groups) = (true, { [["List:\($0.row)", "List:\(AttackedSpace.list)"]] })
        let group: Expected = expected == .allowed ? .allowed : .refused(["roleForbids", "groupFailed"])
        return [RoleAttempt(attempt: attempt, expected: group)]
    }

    // MARK: - Members and invitations

    private static func ofMembers(_ own: String) -> [RoleAttempt] {
        let (type, forbidden) = ("optimist_member", Expected.code("roleForbids"))
        let others = [AttackedSpace.ownerRow, AttackedSpace.formerRows[0]]
        var all: [RoleAttempt] = []
        for row in others {
            all += write("update of another's role", forbidden, type) { _, _ in ["update": [row: ["role": "owner"]]] }
            all += write("update of another's name", forbidden, type) { _, _ in ["update": [row: ["name": "me"]]] }
            all += write("create over another's row", forbidden, type) { space, _ in
                ["create": [row: .object(space.values(type, "me"))]]
            }
        }
        all += write("destroy of another's row", forbidden, type) { _, _ in ["destroy": [.string(others[0])]] }
        all += write("update of the own role", forbidden, type) { _, _ in ["update": [own: ["role": "owner"]]] }
        all += write("update of the own role and name", forbidden, type) { _, _ in
            ["update": [own: ["role": "owner", "name": "me"]]]
        }
        all += write("later life of the own row", forbidden, type) { space, _ in
            var row = space.values(type, "me")
            row["@gen"] = 3
            row["@hlc"] = .string(WriteClock.at(900_000, "deviceofAttacker").description)
            return ["create": [own: .object(row)]]
        }
        all += write("row of another space", .code("crossesSpaces"), type) { space, sender in
            ["create": [sender.row: .object(AttackedSpace.club.values(type, "me"))]]
        }
        all += write("create of a second own row as an owner", .allowed, type) { space, sender in
            ["create": [sender.row: .object(space.values(type, "me"))]]
        }
        all += write("create over the own row as an owner", .allowed, type) { space, sender in
            ["create": [own: .object(space.values(type, sender.row))]]
        }
        all += write("update of the own name", .allowed, type) { _, sender in
            ["update": [own: ["name": .string(sender.row + "n")]]]
        }
        return all
    }

    private static func ofInvitations() -> [RoleAttempt] {
        let (type, row, forbidden) = ("optimist_invitation", Ticket.open.row, Expected.code("roleForbids"))
        var all = write("create", forbidden, type) { ["create": [$1.row: .object($0.values(type, "me"))]] }
        all += write("update of the role", forbidden, type) { _, _ in ["update": [row: ["role": "owner"]]] }
        all += write("update of the uses", forbidden, type) { _, _ in ["update": [Ticket.used.row: ["uses": 100]]] }
        all += write("update of the end", forbidden, type) { _, _ in
            ["update": [Ticket.ended.row: ["endsAt": "2027-12-01T00:00:00Z"]]]
        }
        all += write("revival", forbidden, type) { space, _ in
            ["create": [Ticket.revoked.row: .object(space.values(type, "me"))]]
        }
        all += write("destroy", forbidden, type) { _, _ in ["destroy": [.string(row)]] }
        return all
    }

    // MARK: - Moves

    private static func ofMoves(_ expected: Expected) -> [RoleAttempt] {
        func move(
            _ type: String, _ name: String, _ expected: Expected,
            _ places: @escaping @Sendable (AttackedSpace, Attempt.Sender) -> (String, String),
            _ row: @escaping @Sendable (AttackedSpace, Attempt.Sender) -> JSONObject
        ) -> [RoleAttempt] {
            Attempt("\(type) \(name)") { space, sender in
                let (source, destination) = places(space, sender)
                let row = row(space, sender)
                let arguments: JSONObject = [
                    "fromAccountId": .string(source), "accountId": .string(destination),
                    "onSuccessDestroyOriginal": true, "create": [row["id"]?.string ?? "": .object(row)],
                ]
                var calls = [Invocation("\(type)/copy", arguments, callID: "1")]
                if source == sender.account {
                    let own: JSONObject = ["accountId": .string(source), "create": [sender.row: ["name": "own"]]]
                    calls.insert(Invocation("List/set", own, callID: "0"), at: 0)
                }
                return calls
            }.inBothForms.map { RoleAttempt(attempt: $0, expected: expected) }
        }
        let (crosses, closed) = (Expected.code("crossesSpaces"), Expected.code("accountNotFound"))
        func known(_ type: String) -> @Sendable (AttackedSpace, Attempt.Sender) -> JSONObject {
            { _, _ in ["id": .string(AttackedSpace.row(type)), "space": .null] }
        }
        var all: [RoleAttempt] = []
        for type in ["optimist_member", "optimist_invitation"] {
            all += move(type, "moved out", crosses, { ($0.account, $1.account) }, known(type))
        }
        all += move(
            "List", "moved to a space of others", closed, { space, _ in (space.account, AttackedSpace.club.account) }
        ) {
            _, _ in ["id": .string(AttackedSpace.list), "space": .string(AttackedSpace.club.space)]
        }
        all += move(
            "List", "moved from a space of others", closed, { space, _ in (AttackedSpace.club.account, space.account) }
        ) {
            space, _ in ["id": .string(AttackedSpace.list), "space": .string(space.space)]
        }
        // A push cannot make a row and move it.
        all += move("List", "moved in", expected, { ($1.account, $0.account) }) { space, sender in
            ["id": .string(sender.row), "space": .string(space.space)]
        }.prefix(1)
        // In the second form, the row has left.
        let again: Expected = expected == .allowed ? .refused(["notFound", "behind"]) : expected
        var out = move("List", "moved out", expected, { ($0.account, $1.account) }) { _, _ in
            ["id": .string(RowKey.list(2).id), "space": .null]
        }
        out[1].expected = again
        return all + out
    }

    private static func ofOtherSpaces() -> [RoleAttempt] {
        AttackedSpace.types.flatMap { type -> [RoleAttempt] in
            let forms: [(String, @Sendable (AttackedSpace) -> JSONObject)] = [
                ("create", { ["create": [RowKey.id(0xE09): .object($0.values(type, "me"))]] }),
                ("update", { ["update": [AttackedSpace.row(type): .object($0.values(type, "me"))]] }),
                ("destroy", { _ in ["destroy": [.string(AttackedSpace.row(type))]] }),
            ]
            return forms.flatMap { name, arguments in
                Attempt("\(type) \(name) in a space of others, beside a look at the own") { space, _ in
                    [
                        AttackedSpace.club.call("\(type)/set", arguments(.club)),
                        AttackedSpace.club.call("\(type)/get", ["ids": .null]),
                    ]
                }.inBothForms.map { RoleAttempt(attempt: $0, expected: .code("accountNotFound")) }
            }
        }
    }
}
