// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import OptimistServer

/// Creates the secret that the servers of a database sign tokens with.
struct SecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "Create a secret for servers that share a database.",
        discussion: """
            Protect it like a password: anyone who has it can sign in as any user. A server with a data directory \
            creates its secret in keys.json. You can also pass that file with --secret.
            """)

    func run() { say(ServerKeys.make()) }
}
