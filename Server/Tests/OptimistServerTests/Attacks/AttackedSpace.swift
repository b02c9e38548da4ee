// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

@testable import OptimistServer

/// A space, as an attacker names it. Its rows have the same ids in every space, so that the answers for two spaces
/// differ only in the ids of the spaces.
struct AttackedSpace: Hashable, Sendable {
    let space: String

    /// Has members, rows and invitations.
    static let home = AttackedSpace(space: RowKey.id(0xA001))
    /// The same for other members. The readers and writers of `home` do not know it.
    static let club = AttackedSpace(space: RowKey.id(0xA002))
    /// Has the same former members as `home`, and no rows of the app.
    static let bare = AttackedSpace(space: RowKey.id(0xA003))
    /// Does not exist.
    static let nowhere = AttackedSpace(space: RowKey.id(0xA004))

    var account: String { SpaceAccount.id(ofSpace: space) ?? "" }

    static let (list, todo) = (RowKey.list(1).id, RowKey.todo(1).id)
    static let ownerRow = RowKey.id(0xB01)
    static let (readerRow, writerRow) = (RowKey.id(0xB06), RowKey.id(0xB07))
    /// The member rows of the former members.
    static let formerRows = [RowKey.id(0xB03), RowKey.id(0xB04)]

    /// The id of a known row of a type.
    static func row(_ type: String) -> String {
        switch type {
        case "List": list
        case "Todo": todo
        case "optimist_member": ownerRow
        case "optimist_invitation": Ticket.open.row
        default: RowKey.id(0xB0F)
        }
    }

    static let types = ["List", "Todo", "optimist_member", "optimist_invitation", "optimist_space", "Memo"]

    /// The beginning of every text in the attacked spaces, and of their numbers and seqs.
    static let marks = ["zq", "77000"]
    /// A space's seq when the attacks begin.
    static let seq: Int64 = 7_700_010

    /// The columns of a row of a type.
    func values(_ type: String, _ word: String = "zq") -> JSONObject {
        switch type {
        case "List": ["name": .string("\(word)list"), "space": .string(space)]
        case "Todo": ["content": .string("\(word)todo"), "priority": 7_700_077, "listId": .string(Self.list)]
        case "optimist_member": ["space": .string(space), "name": .string("\(word)name"), "role": "owner"]
        case "optimist_invitation":
            [
                "space": .string(space), "role": "owner", "label": .string("\(word)label"),
                "hash": .string(ServedSpace.secret(99).hash),
            ]
        case "optimist_space": ["name": .string(word)]
        default: ["text": .string(word)]
        }
    }

    func call(_ method: String, _ arguments: JSONObject, id: String = "0") -> Invocation {
        var arguments = arguments
        if arguments["accountId"] == nil { arguments.append("accountId", .string(account)) }
        return Invocation(method, arguments, callID: id)
    }

    /// A call that makes the sender a member with a ticket.
    func joining(_ ticket: Ticket, row: String, role: String? = nil) -> Invocation {
        var member: JSONObject = ["space": .string(space), "name": "me", "ticket": .string(ticket.text)]
        if let role { member["role"] = .string(role) }
        return call("optimist_member/set", ["create": [row: .object(member)]])
    }
}

/// The tickets that attackers try.
enum Ticket: UInt8, CaseIterable, Sendable {
    /// The only use of its invitation is used.
    case used = 1
    case ended
    case revoked
    /// Its invitation has uses left, and was made before a member was removed.
    case open
    /// It belongs to no invitation.
    case wrong
    /// The hash of an open invitation, instead of its secret.
    case hash

    /// The invitations that the owner makes.
    static let invited = [Self.used, .ended, .revoked, .open]

    /// The id of the invitation.
    var row: String { RowKey.id(0xC00 + Int(rawValue)) }

    var text: String {
        self == .hash ? ServedSpace.secret(Self.open.rawValue).hash : ServedSpace.secret(rawValue).text
    }
}
