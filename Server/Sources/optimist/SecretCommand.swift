// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import OptimistServer

/// `optimist secret`: makes the secret with which the servers of one database sign tokens, and prints it.
struct SecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "Make a secret for servers that share a database.",
        discussion: """
            Keep it as a password is kept: whoever has it can sign in as anybody. A server with a data directory makes its \
            own, in keys.json, and that file can be named with --secret too.
            """)

    func run() { say(ServerKeys.make()) }
}
