// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistServer
import OptimistWire

/// The operator's commands for the spaces of a server, whether or not the server runs.
struct SpaceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "space", abstract: "List, create, change, export and delete the spaces of a server.",
        discussion: """
            A space has rows that several people share. It is named by its id, a UUID. Running servers notify the \
            devices, as for `optimist account`.
            """,
        subcommands: [
            List.self, Show.self, Members.self, Audit.self, Create.self, Owner.self, RemoveMember.self, Export.self,
            Delete.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all spaces.")
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.space(.list)) { ($0["spaces"]?.array ?? []).map(\.space) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the kind, the counts and the latest events of a space.")
        @Argument(help: "The id of the space.")
        var space: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.space(.show(space: space))) { answer in
                ["\(answer.space)  \(answer.words("owners")) owners"] + (answer["events"]?.array ?? []).map(\.event)
            }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show who changed the members of a space, and when.",
            discussion: """
                Prints the events, newest first: the time, the event, its person, invitation or account, and the sender \
                with the device. Events have ids, and no names. `optimist account list` shows the \
                addresses of persons. Events are kept for 400 days, also those of a space that was deleted in the last \
                year, and at most 10,000 of a space.
                """)
        @Argument(help: "The id of the space.")
        var space: String
        @Option(help: "The most events to show.")
        var limit = 100
        @OptionGroup var server: AccountOptions

        func validate() throws {
            guard (1...10_000).contains(limit) else {
                throw ValidationError("--limit must be a number from 1 to 10000.")
            }
        }

        func run() async throws {
            try await server.carryOut(.space(.audit(space: space, limit: limit))) {
                ($0["events"]?.array ?? []).map(\.event)
            }
        }
    }

    struct Members: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the members of a space, and their roles.")
        @Argument(help: "The id of the space.")
        var space: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.space(.members(space: space))) { answer in
                (answer["members"]?.array ?? []).map { member in
                    "\(member.words("role"))  \(member["email"]?.string ?? "-")  \(member.words("person"))"
                }
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a space with one owner, such as a public one for news or a catalogue.",
            discussion: """
                Every person who signs in may read a public space, and only its members may write. The app shows it \
                to a person after it has added the space's id to the person's spaces. The schema must have tables that can \
                be in spaces.
                """)
        @Option(help: "The id of the space, a UUID that the app knows.")
        var id: String
        @Option(help: ArgumentHelp("The email address of the owner's account.", valueName: "email"))
        var owner: String
        @Option(help: "The owner's name, as members and readers see it.")
        var name = ""
        @Flag(name: .customLong("public"), help: "Let every person who signs in read the space.")
        var isPublic = false
        @OptionGroup var server: AccountOptions

        func validate() throws {
            guard UUID(uuidString: id) != nil else { throw ValidationError("--id is a UUID.") }
        }

        func run() async throws {
            let order = SpaceOrder.create(space: id.lowercased(), isPublic: isPublic, owner: owner, name: name)
            try await server.carryOut(.space(order)) { ["The space \($0.words("space")) is created."] }
        }
    }

    struct Owner: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a person an owner of a space.",
            discussion: "The person becomes a member if necessary. The other owners stay.")
        @Argument(help: "The id of the space.")
        var space: String
        @Argument(help: "The email address of the person's account.")
        var email: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.space(.setOwner(space: space, email: email))) {
                ["\($0.words("owner")) is an owner."]
            }
        }
    }

    struct RemoveMember: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a member from a space.",
            discussion: """
                The person's devices remove the space's rows, except those of a public space. Rows that the person \
                wrote stay. The only owner cannot be removed: make another owner first.
                """)
        @Argument(help: "The id of the space.")
        var space: String
        @Argument(help: "The email address or the id of the person's account.")
        var member: String
        @OptionGroup var server: AccountOptions

        func run() async throws {
            try await server.carryOut(.space(.removeMember(space: space, member: member))) {
                ["\($0.words("removed")) is removed."]
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a space with its rows, permanently.",
            discussion: """
                Its members' devices remove its rows. Prints the receipt that the server keeps. While the server keeps \
                it, no space can have this id. Backups are not changed.
                """)
        @Argument(help: "The id of the space.")
        var space: String
        @Flag(help: "Do not ask for confirmation.")
        var yes = false
        @OptionGroup var server: AccountOptions

        func run() async throws {
            if !yes {
                say("All rows of the space \(space.shown()) will be deleted for all its members. Type the id again:")
                guard readLine() == space else { throw CleanExit.message("Nothing was deleted.") }
            }
            try await server.carryOut(.space(.delete(space: space))) { answer in
                ["The space is deleted. The server keeps this receipt:", answer["receipt"]?.receipt ?? ""]
            }
        }
    }
}

extension JSON {
    fileprivate var event: String {
        let rest = ["subject", "detail"].compactMap { self[$0]?.string }
        let sender = self["person"]?.string ?? "the operator"
        let device = self["device"]?.string.map { ["with \($0)"] } ?? []
        return ([words("time"), words("what")] + rest + ["by \(sender)"] + device).joined(separator: "  ")
    }

    fileprivate var space: String {
        "\(words("space"))  \(words("kind"))  \(words("members")) members  \(words("rows")) rows"
    }
}
