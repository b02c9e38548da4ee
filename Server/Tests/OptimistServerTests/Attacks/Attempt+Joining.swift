// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

@testable import OptimistServer

extension Attempt {
    /// - Parameter tickets: Tickets that are not valid for the sender.
    static func joins(with tickets: [Ticket]) -> [Attempt] {
        tickets.flatMap { memberRows($0) + joinsWithMore($0) }.flatMap(\.inBothForms)
    }

    private static let newRow = RowKey.id(0xE03)

    private static func memberRows(_ ticket: Ticket) -> [Attempt] {
        let name = "join with a \(ticket) ticket"
        return [
            Attempt(name) { space, _ in [space.joining(ticket, row: newRow)] },
            Attempt("\(name) as an owner") { space, _ in [space.joining(ticket, row: newRow, role: "owner")] },
            Attempt("\(name) over the owner's row") { space, _ in
                [space.joining(ticket, row: AttackedSpace.ownerRow)]
            },
            Attempt("\(name) and the row of a former member") { space, _ in
                [space.joining(ticket, row: AttackedSpace.formerRows[0])]
            },
            Attempt("\(name) by an update") { space, _ in
                let member: JSON = ["name": "me", "ticket": .string(ticket.text)]
                return [space.call("optimist_member/set", ["update": [AttackedSpace.ownerRow: member]])]
            },
            Attempt("\(name) beside a second member row") { space, _ in
                var second = space.values("optimist_member", "me")
                second["ticket"] = .string(Ticket.wrong.text)
                return [
                    space.joining(ticket, row: newRow),
                    space.call("optimist_member/set", ["create": [RowKey.id(0xE05): .object(second)]]),
                ]
            },
        ]
    }

    /// Joins whose requests also read, write and move rows.
    private static func joinsWithMore(_ ticket: Ticket) -> [Attempt] {
        func join(
            _ name: String, _ more: @escaping @Sendable (AttackedSpace, Sender) -> [Invocation]
        ) -> Attempt {
            Attempt("join with a \(ticket) ticket \(name)") { space, sender in
                [space.joining(ticket, row: newRow)] + more(space, sender)
            }
        }
        return [
            Attempt("join with a \(ticket) ticket after other calls") { space, _ in
                [
                    space.call("List/set", ["create": [RowKey.id(0xE04): .object(space.values("List", "me"))]]),
                    space.call("List/get", ["ids": .null]), space.joining(ticket, row: newRow),
                ]
            },
            join("and look") { space, _ in
                AttackedSpace.types.map { space.call("\($0)/get", ["ids": .null]) }
                    + [space.call("List/changes", ["sinceState": "e1.0", "inline": true])]
            },
            join("and write") { space, _ in
                [
                    space.call("List/set", ["update": [AttackedSpace.list: ["name": "me"]]]),
                    space.call("Todo/set", ["destroy": [.string(AttackedSpace.todo)]]),
                    space.call("optimist_invitation/set", ["update": [Ticket.used.row: ["uses": 9]]]),
                ]
            },
            join("and move out") { space, sender in
                let arguments: JSONObject = [
                    "fromAccountId": .string(space.account), "accountId": .string(sender.account),
                    "onSuccessDestroyOriginal": true,
                    "create": [AttackedSpace.list: ["id": .string(AttackedSpace.list), "space": .null]],
                ]
                return [Invocation("List/copy", arguments, callID: "1")]
            },
        ]
    }

    /// Requests with a valid ticket that do not make the sender a member.
    static func halfJoins() -> [Attempt] {
        let looks: @Sendable (AttackedSpace) -> [Invocation] = { space in
            AttackedSpace.types.map { space.call("\($0)/get", ["ids": .null]) }
                + [
                    space.call("List/changes", ["sinceState": "e1.0", "inline": true]),
                    space.call("List/changes", ["inline": true, "snapshot": [:]]),
                    space.call("List/set", ["update": [AttackedSpace.list: ["name": "me"]]]),
                    space.call("Todo/set", ["destroy": [.string(AttackedSpace.todo)]]),
                ]
        }
        func member(_ name: String, _ more: JSONObject) -> Attempt {
            Attempt("a valid ticket in a member row \(name)") { space, _ in
                var row: JSONObject = [
                    "space": .string(space.space), "name": "me", "ticket": .string(Ticket.open.text),
                ]
                for (column, value) in more { row[column] = value }
                return [space.call("optimist_member/set", ["create": [RowKey.id(0xE06): .object(row)]])] + looks(space)
            }
        }
        let over = Attempt("a valid ticket in a row of the owner") { space, _ in
            looks(space) + [space.joining(.open, row: AttackedSpace.ownerRow)]
        }
        let all = [
            member("of another space", ["space": .string(AttackedSpace.club.space)]),
            member("with an unknown column", ["admin": true]), member("with a name that is a number", ["name": 7]),
            member("of a later life", ["@gen": 3, "@hlc": .string(WriteClock.at(9, "deviceofAttacker").description)]),
            over,
        ]
        return all.flatMap(\.inBothForms).map { attempt in
            var attempt = attempt
            attempt.isInvited = true
            return attempt
        }
    }

    /// Everything that a person without a right may try.
    static func all(with tickets: [Ticket]) -> [Attempt] {
        [reads(), comparisons(), otherNames(), writes(), moves(), mixtures(), joins(with: tickets)].flatMap(\.self)
    }
}
