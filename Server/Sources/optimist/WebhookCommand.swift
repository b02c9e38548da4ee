// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import OptimistServer
import OptimistWire

/// The operator's commands for webhooks, whether or not the server runs.
struct WebhookCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Show webhooks, switch them on, and send transactions again.",
        discussion: "`optimist serve --webhook` adds a webhook.",
        subcommands: [List.self, Resume.self, Replay.self, Secret.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show all webhooks with their state, as the server that calls them last saved it.")
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.webhook(.list)) { ($0["webhooks"]?.array ?? []).map(\.webhook) }
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Switch a webhook on, and try all accounts now.",
            discussion: "A receiver that answers 410 is switched off until then. Nothing is left out.")
        @Argument(help: "The name of the webhook.")
        var name: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.webhook(.resume(name: name))) { ["\($0.words("resumed")) is on."] }
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send transactions again, or skip them.",
            discussion: """
                Each transaction has the rows that it was the last to change, so a row that changed again is sent with \
                the later transaction. This also switches the webhook on.
                """)
        @Argument(help: "The name of the webhook.")
        var name: String
        @Option(
            help: ArgumentHelp(
                "Where to begin: start, end (skip all transactions so far), or the number of an account's transaction.",
                valueName: "start|end|number"),
            transform: { text in
                switch text {
                case "start": return 1
                case "end": return .max
                default:
                    guard let seq = Int64(text), seq > 0 else {
                        throw ValidationError("--from must be start, end, or the number of a transaction.")
                    }
                    return seq
                }
            })
        var from: Int64
        @Option(help: ArgumentHelp("The id of an account. Default: all accounts.", valueName: "id"))
        var account: String?
        @OptionGroup var server: AccountOptions

        func validate() throws {
            guard account != nil || from == 1 || from == .max else {
                throw ValidationError(
                    "--from with a number needs --account, because each account counts its own transactions.")
            }
        }

        func run() async throws {
            try await server.carryOut(.webhook(.replay(name: name, seq: from, account: account))) {
                ["\($0.words("replayed")) continues from there."]
            }
        }
    }

    struct Secret: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a secret for the signatures of a webhook or a hook.",
            discussion: """
                Give it to the server and to the receiver. To replace a secret, add the new one to the server's file, on \
                a second line, then to the receiver, and remove the old one from both.
                """)

        func run() { say(WebhookSecret.make()) }
    }
}

extension JSON {
    fileprivate var webhook: String {
        func number(_ name: String) -> String { self[name]?.int.map(String.init) ?? "unknown" }
        let state = self["isOff"] == true ? "off" : (self["failing"]?.int ?? 0) > 0 ? "failing" : "on"
        let types = self["types"]?.array.map { $0.compactMap(\.string).joined(separator: ",") } ?? "all types"
        return """
            \(words("name"))  \(self["url"]?.string ?? "never called")  \(self["scope"]?.string ?? "all")  \(types)  \
            \(state)  \(number("waiting")) accounts waiting  \(number("failing")) failing  lag \(number("lagSeconds")) s  \
            last failure \(self["failure"]?.string ?? "none")
            """
    }
}
