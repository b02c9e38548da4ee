// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

/// Judges who may hear of a space and who may change it (P6–P8).
extension SharingPeople: ServerWitness {
    func requestBegins(of person: String) -> @Sendable ([UInt8]) -> Void {
        let begin = withState(\.history.seqs)
        return { [self] response in
            // The commits of the request have been read before.
            let history = withState(\.history)
            if history.hasGoneBack { return }
            for telling in Telling.all(in: response) where telling.account != person {
                guard let space = history.accounts[telling.account] else { continue }
                let roles = space.roles(of: person, from: begin[space.id] ?? 0, to: space.seq)
                if roles.isEmpty { find("access: an answer tells \(person) of \(space.id) (P7)") }
                guard let needed = telling.neededRoles, roles.isDisjoint(with: needed) else { continue }
                find("role: \(person), a \(roles.sorted().joined()), changed \(telling.type) in \(space.id) (P6)")
            }
        }
    }

    func poked(_ person: String, about account: String, in state: SyncState) {
        let history = withState(\.history)
        guard account != person, let space = history.accounts[account], !history.hasGoneBack else { return }
        if !space.roles(of: person, from: state.seq - 1, to: state.seq).isEmpty { return }
        find("access: a poke tells \(person) of \(account) in \(state.seq) (P8)")
    }
}

/// The part of an answer that is about one account.
private struct Telling {
    var account: String
    var type = ""
    var changesRows = false

    /// The person must have one of these roles. Nil: any role will do.
    var neededRoles: Set<String>? {
        switch type {
        case _ where !changesRows: nil
        case "optimist_member": nil
        case "optimist_invitation": ["owner"]
        default: ["owner", "writer"]
        }
    }

    /// The answer to a set counts only if rows changed: to a stranger, every space looks empty.
    static func all(in response: [UInt8]) -> [Telling] {
        guard let json = try? JSON(parsing: response), let calls = json["methodResponses"]?.array else { return [] }
        return calls.flatMap { call -> [Telling] in
            guard let name = call.array?.first?.string, let arguments = call.array?.dropFirst().first, name != "error"
            else { return [] }
            if name == "RowSync/changed" {
                return (arguments["changed"]?.object?.members ?? []).map { Telling(account: $0.key) }
            }
            let parts = name.split(separator: "/").map(String.init)
            guard let type = parts.first, let method = parts.last, let account = arguments["accountId"]?.string
            else { return [] }
            guard method == "set" || method == "copy" else { return [Telling(account: account, type: type)] }
            guard changesRows(arguments) else { return [] }
            let accounts = [account] + (arguments["fromAccountId"]?.string.map { [$0] } ?? [])
            return accounts.map { Telling(account: $0, type: type, changesRows: true) }
        }
    }

    private static func changesRows(_ arguments: JSON) -> Bool {
        ["created", "updated"].contains { !(arguments[$0]?.object?.members.isEmpty ?? true) }
            || !(arguments["destroyed"]?.array?.isEmpty ?? true)
    }
}
