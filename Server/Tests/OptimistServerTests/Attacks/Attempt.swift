// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

@testable import OptimistServer

/// One attempt to reach a space: a JMAP request, made for the space that it attacks.
struct Attempt: Sendable {
    /// The facts about the sender of an attempt.
    struct Sender: Sendable {
        var account: String
        /// The id of a row of the sender, new for each request.
        var row: String
        var epoch: String
    }

    var name: String
    var isPush = false
    /// Whether the request would found a space that does not exist.
    var founds = false
    /// Whether the sender has a valid ticket, and so may learn that it is valid.
    var isInvited = false
    /// Whether the answer to a repeated request differs from the first answer.
    var settles = false
    var groups: @Sendable (Sender) -> [[String]] = { _ in [] }
    var using = [RowSync.core, RowSync.capability]
    var schemaVersion: Int?
    var device = "deviceofAttacker"
    var createdIDs: [String: String]?
    var calls: @Sendable (AttackedSpace, Sender) -> [Invocation]

    init(_ name: String, _ calls: @escaping @Sendable (AttackedSpace, Sender) -> [Invocation]) {
        self.name = name
        self.calls = calls
    }

    func body(to space: AttackedSpace, from sender: Sender, push: Int64) -> [UInt8] {
        let calls = calls(space, sender).enumerated().map { Invocation($1.name, $1.arguments, callID: "\($0)") }
        return Request(
            using: using, methodCalls: calls, device: isPush ? device : nil, push: isPush ? push : nil,
            schemaVersion: schemaVersion, groups: isPush ? groups(sender) : [], createdIDs: createdIDs
        ).json.bytes
    }

    /// The attempt once as separate calls, and once as one push.
    var inBothForms: [Attempt] {
        var (calls, push) = (self, self)
        calls.isPush = false
        (push.name, push.isPush) = ("\(name), in a push", true)
        return [calls, push]
    }

    func founding() -> Attempt {
        var attempt = self
        attempt.founds = true
        return attempt
    }
}

// MARK: - Reading

extension Attempt {
    static func reads() -> [Attempt] {
        AttackedSpace.types.flatMap { type -> [Attempt] in
            func read(_ name: String, _ method: String, _ arguments: @escaping @Sendable (Sender) -> JSONObject)
                -> Attempt
            {
                Attempt("\(type) \(name)") { space, sender in [space.call("\(type)/\(method)", arguments(sender))] }
            }
            let row = AttackedSpace.row(type)
            var plain = read("get without the capability", "get") { _ in ["ids": .null] }
            plain.using = [RowSync.core]
            var old = read("get by an old app", "get") { _ in ["ids": .null] }
            old.schemaVersion = 1
            var pushed = read("get in a push", "get") { _ in ["ids": .null] }
            pushed.isPush = true
            var written = Attempt("\(type) get beside an own write") { space, sender in
                [sender.memo, space.call("\(type)/get", ["ids": .null])]
            }
            written.isPush = true
            return [
                read("get", "get") { _ in ["ids": .null] },
                read("get by id", "get") { _ in ["ids": [.string(row), "x"]] },
                read("get of columns", "get") { _ in ["ids": .null, "properties": ["id", "@seq", "@hlc"]] },
                read("changes", "changes") { ["sinceState": .string("\($0.epoch).0")] },
                read("changes with rows", "changes") { ["sinceState": .string("\($0.epoch).0"), "inline": true] },
                read("changes since now", "changes") {
                    ["sinceState": .string("\($0.epoch).\(AttackedSpace.seq + 1)"), "inline": true]
                },
                read("changes of another epoch", "changes") { _ in ["sinceState": "e1.1", "inline": true] },
                read("snapshot", "changes") { _ in ["inline": true, "snapshot": [:]] },
                read("later part of a snapshot", "changes") {
                    [
                        "inline": true,
                        "snapshot": [
                            "at": .string("\($0.epoch).\(AttackedSpace.seq)"), "after": .string(RowKey.id(0)),
                        ],
                    ]
                },
                read("query", "query") { _ in ["filter": [:]] },
                read("queryChanges", "queryChanges") { _ in ["sinceQueryState": "0"] },
                plain, old, pushed, written,
            ]
        }
    }

    static func comparisons() -> [Attempt] {
        let states: [(String, String)] = [("an old", "e1.0"), ("the present", "")]
        return states.flatMap { name, state in
            Attempt("RowSync/changed with \(name) state") { space, sender in
                let state = state.isEmpty ? "\(sender.epoch).\(AttackedSpace.seq + 1)" : state
                return [
                    Invocation(
                        "RowSync/changed",
                        ["states": [space.account: .string(state), sender.account: .string(state)]], callID: "0")
                ]
            }.inBothForms
        }
    }

    /// Ids that a careless comparison would take for the space's.
    static func otherNames() -> [Attempt] {
        let forms: [(String, @Sendable (AttackedSpace) -> String)] = [
            ("the space's id", { $0.space }), ("upper case", { $0.account.uppercased() }),
            ("no letter", { String($0.account.dropFirst()) }), ("a zero character", { $0.account + "\0" }),
            ("a space character", { $0.account + " " }), ("a wildcard", { $0.account.dropLast() + "%" }),
            ("a quote", { $0.account + "' OR '1'='1" }), ("an empty text", { _ in "" }),
            ("another letter", { "S" + $0.account.dropFirst() }),
        ]
        return forms.flatMap { name, form -> [Attempt] in
            let methods: [(String, @Sendable (AttackedSpace) -> JSONObject)] = [
                ("get", { _ in ["ids": .null] }), ("changes", { _ in ["sinceState": "e1.0", "inline": true] }),
                ("set", { space in ["create": [RowKey.id(0xE01): .object(space.values("List", "me"))]] }),
            ]
            return methods.map { method, arguments in
                Attempt("List/\(method) with \(name) as the account") { space, _ in
                    var arguments = arguments(space)
                    arguments["accountId"] = .string(form(space))
                    return [Invocation("List/\(method)", arguments, callID: "0")]
                }
            }
        }
    }
}
