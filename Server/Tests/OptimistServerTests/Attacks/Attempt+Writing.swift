// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

@testable import OptimistServer

extension Attempt {
    static func writes() -> [Attempt] {
        AttackedSpace.types.flatMap { type -> [Attempt] in
            let (known, new) = (AttackedSpace.row(type), RowKey.id(0xE02))
            let isMember = type == "optimist_member"
            func write(
                _ name: String, founds: Bool = false, _ arguments: @escaping @Sendable (AttackedSpace) -> JSONObject
            ) -> [Attempt] {
                var attempt = Attempt("\(type) \(name)") { space, _ in [space.call("\(type)/set", arguments(space))] }
                attempt.founds = founds
                return attempt.inBothForms
            }
            var all = write("create", founds: isMember) { ["create": [new: .object($0.values(type, "me"))]] }
            all += write("create over a known row", founds: isMember) {
                ["create": [known: .object($0.values(type, "me"))]]
            }
            all += write("update") { ["update": [known: .object($0.values(type, "me"))]] }
            all += write("update to a later life") { space in
                var row = space.values(type, "me")
                row["@gen"] = 3
                row["@hlc"] = .string(WriteClock.at(900_000, "deviceofAttacker").description)
                return ["update": [known: .object(row)]]
            }
            all += write("destroy") { _ in ["destroy": [.string(known)]] }
            all += write("destroy of every life") { _ in
                ["destroy": [.string(known)], "destroyClocks": [known: ["@gen": 99]]]
            }
            all += write("update in the present state") {
                [
                    "ifInState": .string("e1.\(AttackedSpace.seq + 1)"),
                    "update": [known: .object($0.values(type, "me"))],
                ]
            }
            return all
        }
    }

    static func moves() -> [Attempt] {
        ["List", "Todo", "optimist_member", "optimist_invitation", "optimist_space"].flatMap { type -> [Attempt] in
            let known = AttackedSpace.row(type)
            func move(
                _ name: String, isOut: Bool, _ row: @escaping @Sendable (AttackedSpace) -> JSONObject = { _ in [:] },
                with more: JSONObject = [:],
                to other: @escaping @Sendable (Sender) -> String = { $0.account }
            ) -> [Attempt] {
                Attempt("\(type) \(name)") { space, sender in
                    let (source, destination) = isOut ? (space.account, other(sender)) : (other(sender), space.account)
                    let id = isOut ? known : sender.row
                    var row = row(space)
                    row["id"] = .string(id)
                    var arguments: JSONObject = [
                        "fromAccountId": .string(source), "accountId": .string(destination),
                        "onSuccessDestroyOriginal": true, "create": [id: .object(row)],
                    ]
                    for (name, value) in more { arguments[name] = value }
                    let list: Invocation =
                        isOut
                        ? sender.memo
                        : Invocation(
                            "List/set",
                            ["accountId": .string(sender.account), "create": [sender.row: ["name": "own"]]], callID: "0"
                        )
                    return [list, Invocation("\(type)/copy", arguments, callID: "1")]
                }.inBothForms
            }
            let state = JSON.string("e1.\(AttackedSpace.seq + 1)")
            var all = move("moved out", isOut: true, { _ in ["space": .null] })
            all += move("moved out as a new life", isOut: true, { _ in ["space": .null, "@gen": 3] })
            all += move("copied out as a whole", isOut: true, { _ in ["space": .null, "name": "me", "@whole": true] })
            all += move("copied out, staying", isOut: true, with: ["onSuccessDestroyOriginal": false])
            all += move("moved out in a known state", isOut: true, with: ["ifFromInState": state])
            all += move("moved to a further account", isOut: true, to: { _ in AttackedSpace.elsewhere })
            all += move("moved in", isOut: false, { ["space": .string($0.space)] })
            all += move("moved in from a further account", isOut: false, to: { _ in AttackedSpace.elsewhere })
            return all
        }
    }

    private static func create(
        _ type: String, in account: String, _ id: String, _ row: JSONObject
    ) -> Invocation {
        Invocation("\(type)/set", ["accountId": .string(account), "create": [id: .object(row)]], callID: "0")
    }

    /// Calls that also touch the own account.
    static func mixtures() -> [Attempt] {
        let list = AttackedSpace.list
        var group = Attempt("a group over an own row and a row of the space") { space, sender in
            [
                create("List", in: sender.account, sender.row, ["name": "own"]),
                space.call("List/set", ["update": [list: ["name": "me"]]]),
            ]
        }
        (group.isPush, group.groups) = (true, { [["List:\($0.row)", "List:\(list)"]] })
        var foreign = group
        foreign.name = "a group that names rows which no call writes"
        foreign.groups = { _ in [["List:\(list)", "Todo:\(AttackedSpace.todo)"]] }
        var owner = Attempt("a push with the number and the device of a member") { space, _ in
            [space.call("List/set", ["update": [list: ["name": "me"]]])]
        }
        (owner.isPush, owner.device) = (true, "deviceowner")
        var known = Attempt("creation ids that name rows of the space") { space, sender in
            [create("Todo", in: sender.account, sender.row, ["content": "own", "listId": "#k"])]
        }
        known.createdIDs = ["k": list]
        let many = Attempt("too many accounts") { space, _ in
            (0..<9).map { AttackedSpace(space: RowKey.id(0xA100 + $0)).call("List/set", ["destroy": ["x"]]) }
                + [space.call("List/set", ["destroy": [.string(list)]])]
        }
        return [group, foreign, owner] + (references() + ownRows() + [known, many]).flatMap(\.inBothForms)
    }

    private static func references() -> [Attempt] {
        [("ids", "/list/*/id"), ("texts", "/list/*/name"), ("the answer", "")].map { name, pointer in
            Attempt("a reference to a refused answer, \(name)") { space, sender in
                [
                    space.call("List/get", ["ids": .null]),
                    Invocation(
                        "List/get",
                        [
                            "accountId": .string(sender.account),
                            "#ids": ["resultOf": "0", "name": "List/get", "path": .string(pointer)],
                        ], callID: "1"),
                ]
            }
        }
    }

    /// Rows of the own account that name the space.
    private static func ownRows() -> [Attempt] {
        let list = AttackedSpace.list
        var same = Attempt("an own row with the id of a row of the space") { space, sender in
            [
                create("Memo", in: sender.account, list, ["text": "me"]),
                space.call("List/get", ["ids": [.string(list)]]),
            ]
        }
        same.settles = true
        let subscription = Attempt("a subscription, then a look") { space, sender in
            [
                create("optimist_space", in: sender.account, space.space, ["name": "me"]),
                space.call("List/get", ["ids": .null]),
                space.call("List/changes", ["sinceState": "e1.0", "inline": true]),
            ]
        }
        let types = ["List", "Todo", "optimist_member", "optimist_invitation"]
        return [same, subscription]
            + types.map { type in
                Attempt("an own row of \(type) that names the space") { space, sender in
                    [create(type, in: sender.account, sender.row, space.values(type, "me"))]
                }
            }
    }
}

extension AttackedSpace {
    /// An account that does not exist.
    static let elsewhere = "a\(String(repeating: "9", count: 32))"
}

extension Attempt.Sender {
    /// A write to the sender's own account.
    var memo: Invocation {
        Invocation("Memo/set", ["accountId": .string(account), "create": [row: ["text": "own"]]], callID: "0")
    }
}
