// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import OptimistServer
import OptimistWire

/// The operator's commands for a server's accounts, whether or not the server runs.
struct AccountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "List, invite, reset, export, sign out and delete the accounts of a server.",
        discussion: """
            If a server is running, it receives the command through a socket in its data directory that only the owner \
            of the directory can open, and notifies its devices immediately. Otherwise the command changes the data \
            directory directly. With --database it changes the database, and the servers notify their devices.
            """,
        subcommands: [
            List.self, Invite.self, Reset.self, Sessions.self, EndSessions.self, Export.self, Delete.self,
            Receipts.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all accounts.")
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.list) { answer in
                (answer["accounts"]?.array ?? []).map { account in
                    "\(account.words("email"))  \(account.words("id"))  \(account.words("sessions")) sessions"
                }
            }
        }
    }

    struct Invite: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an invitation, for a server with --sign-up invited.",
            discussion: "It allows one account. It is shown once; the server keeps only a hash.")
        @Option(help: "How many days it is valid.")
        var days = 14
        @OptionGroup var server: AccountOptions

        func validate() throws {
            guard (1...3650).contains(days) else { throw ValidationError("--days is a number from 1 to 3650.") }
        }

        func run() async throws {
            try await server.carryOut(.invite(days: days)) { [$0.words("invitation")] }
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a token that resets an account's password once, within an hour.",
            discussion: """
                Give it only to the owner of the account. The app passes it to resetPassword(token:to:), which ends \
                all sessions of the account. The token is shown once; the server keeps only a hash.
                """)
        @Argument(help: "The account's email address.")
        var email: String
        @OptionGroup var server: AccountOptions

        func run() async throws { try await server.carryOut(.reset(email: email)) { [$0.words("token")] } }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the devices where an account is signed in.")
        @Argument(help: "The account's email address.")
        var email: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.sessions(email: email)) { answer in
                (answer["sessions"]?.array ?? []).map { session in
                    "\(session.words("id"))  last used \(session.words("lastUsedAt"))  \(session.words("device"))"
                }
            }
        }
    }

    struct EndSessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign an account out, on one device or on all.",
            discussion: "The devices keep their data and send unsent edits when the account signs in again.")
        @Argument(help: "The account's email address.")
        var email: String
        @Option(help: "The id of one session. Default: all.")
        var session: String?
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.endSessions(email: email, session: session)) {
                ["\($0.words("ended")) sessions ended."]
            }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print everything the server stores about an account, as lines of JSON.",
            discussion: """
                Prints a line for the account, each session, each membership in a space, and each row with its column \
                clocks, and last {"end": …} with the counts. The rows of a space are included if the person is an \
                owner or the only member. The lines form a consistent snapshot, even while the server runs. They include \
                deleted rows that the server still remembers, but no passwords, tokens, unsent edits or edits that \
                lost a conflict.
                """)
        @Argument(help: "The account's email address.")
        var email: String
        @OptionGroup var options: PlaceOptions
        @OptionGroup var shared: DatabaseOptions

        func run() async throws {
            try await printExport(of: .account(email: email), for: "account", at: try options.place, shared)
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an account with its rows and sessions, permanently.",
            discussion: """
                Its devices are signed out, keep their data and report that the account was deleted. In spaces with \
                other members, the rows stay and the person's name is erased; if there is no other owner, the \
                longest-standing writer becomes one, or else reader. Spaces with no other member are deleted. Prints \
                the receipt that the server keeps. Backups are not changed. `optimist vacuum` removes the remaining traces \
                from the file.
                """)
        @Argument(help: "The account's email address.")
        var email: String
        @Option(
            help: ArgumentHelp(
                "What happens to spaces with other members that the person alone owns: see `optimist serve --help`.",
                discussion: "Default: as the running server was started, or inherit.", valueName: "inherit|end"),
            transform: { try OwnerlessSpaces($0, for: "--ownerless") })
        var ownerless: OwnerlessSpaces?
        @Flag(help: "Do not ask for confirmation.")
        var yes = false
        @OptionGroup var server: AccountOptions

        func run() async throws {
            if !yes {
                say("Everything the server stores about \(email.shown()) will be deleted. Type the address again:")
                guard readLine() == email else { throw CleanExit.message("Nothing was deleted.") }
            }
            try await server.carryOut(.delete(email: email, ownerless: ownerless)) { answer in
                ["The account is deleted. The server keeps this receipt:", answer["receipt"]?.receipt ?? ""]
            }
        }
    }

    struct Receipts: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the receipts of deleted accounts.",
            discussion: "The server keeps a receipt until every device of the account has lost its access.")
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.receipts) { ($0["receipts"]?.array ?? []).map(\.receipt) }
        }
    }
}

extension JSON {
    var receipt: String {
        let state = self["isErased"] == true ? "erased" : "being erased"
        return """
            \(words("account"))  deleted \(words("deletedAt"))  \(words("rows")) rows, \(words("sessions")) sessions, \
            \(words("spaces")) spaces  \(state)  kept until \(words("keptUntil"))
            """
    }

    func words(_ name: String) -> String {
        guard let member = self[name] else { return "" }
        return member.string ?? member.description
    }
}
