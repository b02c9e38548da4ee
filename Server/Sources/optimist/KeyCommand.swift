// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import OptimistServer
import OptimistWire

/// The operator's commands for service keys, whether or not the server runs.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Create, list and revoke the keys of programs that read and write rows.",
        discussion: """
            A program sends its key as `Authorization: Bearer optk_…`, and uses the same API as devices, on any \
            account that the key allows. A key cannot sign in, change passwords, or make keys. Keep it on a server: never \
            put it into an app or a web page.
            """,
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a key. It is shown once; the server keeps only a hash.",
            discussion: """
                The key is valid at once on all servers. Without --accounts and --spaces it allows all accounts of \
                persons and all spaces; with one of them, only what is named.
                """)
        @Argument(help: "A name for the program, as in the log and the list of keys.")
        var name: String
        @Option(
            help: ArgumentHelp("Whether the program may write.", valueName: "read|write"),
            transform: { text in
                guard let scope = ServiceKey.Scope(rawValue: text) else {
                    throw ValidationError("--scope must be read or write.")
                }
                return scope
            })
        var scope: ServiceKey.Scope
        @Option(help: ArgumentHelp("The types of the rows, separated by commas. Default: all.", valueName: "types"))
        var types: String?
        @Option(
            help: ArgumentHelp("The ids of accounts, separated by commas, or \"all\".", valueName: "all|ids"))
        var accounts: String?
        @Option(help: ArgumentHelp("The ids of spaces, separated by commas, or \"all\".", valueName: "all|ids"))
        var spaces: String?
        @Option(
            help: ArgumentHelp(
                "How many days it is valid, at most 3650. Default: until it is revoked.", valueName: "days"))
        var expires: Int?
        @OptionGroup var server: AccountOptions

        func validate() throws {
            guard (1...3650).contains(expires ?? 1) else {
                throw ValidationError("--expires must be a number from 1 to 3650.")
            }
            for (option, list) in [("--types", types), ("--accounts", accounts), ("--spaces", spaces)]
            where list?.names.contains("") == true {
                throw ValidationError("\(option) has an empty name. Name at least one, or leave the option out.")
            }
        }

        func run() async throws {
            let order = ServiceKeyOrder.create(
                name: name, scope: scope, types: types?.names, accounts: allowed(accounts, unless: spaces),
                spaces: allowed(spaces, unless: accounts), days: expires)
            try await server.carryOut(.key(order)) { [$0.words("text")] }
        }

        /// Nil: all.
        private func allowed(_ names: String?, unless others: String?) -> [String]? {
            guard let names else { return others == nil ? nil : [] }
            return names == "all" ? nil : names.names
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show all keys, also revoked and expired ones, without their texts.")
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.key(.list)) { ($0["keys"]?.array ?? []).map(\.serviceKey) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key, permanently.", discussion: "No server accepts it from then on.")
        @Argument(help: "The id or the name of the key.")
        var key: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.key(.revoke(key: key))) { ["\($0.words("name")) is revoked."] }
        }
    }
}

extension String {
    fileprivate var names: [String] { split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
}

extension JSON {
    fileprivate var serviceKey: String {
        func list(_ name: String) -> String {
            self[name]?.array.map { "\($0.count) \(name)" } ?? "all \(name)"
        }
        let state = self["isValid"] == true ? "valid" : self["revokedAt"]?.string == nil ? "expired" : "revoked"
        let types = self["types"]?.array.map { $0.compactMap(\.string).joined(separator: ",") } ?? "all types"
        return """
            \(words("id"))  \(words("name"))  \(words("scope"))  \(types)  \(list("accounts"))  \(list("spaces"))  \
            \(state)  last used \(self["lastUsedAt"]?.string ?? "never")
            """
    }
}
