// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistPostgres
import OptimistServer
import OptimistWire

/// `optimist account`: what an operator does with the accounts of a server, whether or not it runs.
struct AccountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "List, invite, reset, export, sign out and delete the accounts of a server.",
        discussion: """
            A server that runs takes the order at a socket in its data directory, which only the directory's owner can \
            open, and its devices hear of it at once. Otherwise the order is carried out in the directory. With --database \
            it is carried out in the database, and the servers tell the devices.
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
            abstract: "Make an invitation, for a server with --sign-up invited.",
            discussion: "It is good for one account. It is shown once, and the server keeps only a hash of it.")
        @Option(help: "For how many days it is good.")
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
            abstract: "Make a token with which the password of an account can be reset once, within an hour.",
            discussion: """
                Give it to the account's owner and nobody else. The app hands it to resetPassword(token:to:). All \
                sessions of the account end then. It is shown once, and the server keeps only a hash of it.
                """)
        @Argument(help: "The account's email address.")
        var email: String
        @OptionGroup var server: AccountOptions

        func run() async throws { try await server.carryOut(.reset(email: email)) { [$0.words("token")] } }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show on which devices an account is signed in.")
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
            discussion: "The devices keep what they have, and send it when the account signs in again.")
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
            abstract: "Print all that the server holds of an account, as lines of JSON.",
            discussion: """
                The lines are the account, each session, each row with the clocks of its columns, and at last {"end": …} with \
                their numbers. They are of one moment, also while the server runs. Deleted rows are in it until the server \
                forgets them. Passwords and tokens are not, nor what only devices know: unsent edits, and edits that lost.
                """)
        @Argument(help: "The account's email address.")
        var email: String
        @OptionGroup var options: PlaceOptions
        @OptionGroup var shared: DatabaseOptions

        func run() async throws {
            let email = email
            let spool = try Spool()
            let write: @Sendable (JSON) throws -> Void = { try spool.add($0.description) }
            switch try options.place {
            case .database(let url):
                let database = shared.database(url)
                try await explainingErrors(of: "account", at: database.place) {
                    let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.account"))
                    try await opening.export(email, write)
                    try spool.say()
                }
            case .directory(let directory):
                try await explainingErrors(of: "account", at: directory.path) {
                    try AccountExport.read(email, in: directory, write)
                    try spool.say()
                }
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an account with its rows and sessions, for good.",
            discussion: """
                Its devices are signed out, keep what they have, and say that the account is gone. It prints the receipt that \
                the server keeps. Backups keep what they hold. `optimist vacuum` removes the traces in the file.
                """)
        @Argument(help: "The account's email address.")
        var email: String
        @Flag(help: "Do not ask.")
        var yes = false
        @OptionGroup var server: AccountOptions

        func run() async throws {
            if !yes {
                say("Everything that the server has of \(email.shown()) is deleted. Type the address again to go on:")
                guard readLine() == email else { throw CleanExit.message("Nothing was deleted.") }
            }
            try await server.carryOut(.delete(email: email)) { answer in
                ["The account is deleted. The server keeps this receipt:", answer["receipt"]?.receipt ?? ""]
            }
        }
    }

    struct Receipts: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the receipts of deleted accounts.",
            discussion: "The server keeps one until no device of the account can ask any more.")
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.receipts) { ($0["receipts"]?.array ?? []).map(\.receipt) }
        }
    }
}

extension JSON {
    /// A receipt as a line shows it.
    fileprivate var receipt: String {
        let state = self["isErased"] == true ? "erased" : "being erased"
        return """
            \(words("account"))  deleted \(words("deletedAt"))  \(words("rows")) rows, \(words("sessions")) sessions  \
            \(state)  kept until \(words("keptUntil"))
            """
    }

    /// A member as a line shows it.
    fileprivate func words(_ name: String) -> String {
        guard let member = self[name] else { return "" }
        return member.string ?? member.description
    }
}
