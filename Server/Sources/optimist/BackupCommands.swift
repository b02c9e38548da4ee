// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistCore
import OptimistServer

/// `optimist backup`: copies a server's data while it runs.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy a server's data, also while the server runs.",
        discussion: """
            The copy is the data of one moment: database, keys and schema. It is checked before it gets its name. Who has it \
            can act as any user, so keep it as you keep the server itself. For a PostgreSQL database use pg_basebackup or \
            pg_dump: see Documentation/Deploying.md.
            """)

    @Option(help: ArgumentHelp("Where the server's data lies.", valueName: "directory"))
    var data: String?

    @Argument(help: ArgumentHelp("The directory to make.", valueName: "directory"))
    var to: String

    func run() async throws {
        let directory = DataDirectory.server(data)
        try await explainingErrors(of: "backup", at: to) {
            let done = try DataBackup.backUp(directory, to: URL(filePath: to, directoryHint: .isDirectory))
            say("\(to) has \(done.accounts) accounts and \(done.rows) rows, \(done.bytes) bytes. It was checked.")
        }
    }
}

/// `optimist restore`: puts a backup in place.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Put a backup in place, as the data of a server.",
        discussion: """
            The data directory must not be there, or must be empty. Then start the server: devices compare what they have, \
            and send what is not in the backup.
            """)

    @Option(help: ArgumentHelp("Where the server's data shall lie.", valueName: "directory"))
    var data: String?

    @Argument(help: ArgumentHelp("The directory that `optimist backup` made.", valueName: "directory"))
    var from: String

    func run() async throws {
        let directory = DataDirectory.server(data)
        try await explainingErrors(of: "restore", at: directory.path) {
            let done = try DataBackup.restore(URL(filePath: from, directoryHint: .isDirectory), to: directory)
            say("\(directory.path) has \(done.accounts) accounts and \(done.rows) rows. Start the server on it.")
        }
    }
}

/// `optimist check`: whether a server's data is sound.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a server's data, also while the server runs.",
        discussion: """
            Checks the file with all tables and indexes, whether they agree with each other, and whether every row can be \
            read. It changes nothing. The exit status is 1 if there is a problem. For a PostgreSQL database use pg_amcheck.
            """)

    @Option(help: ArgumentHelp("Where the server's data lies.", valueName: "directory"))
    var data: String?

    func run() async throws {
        let directory = DataDirectory.server(data)
        try await explainingErrors(of: "check", at: directory.path) {
            let problems = try DataCheck.problems(of: directory)
            for problem in problems { say(problem) }
            guard problems.isEmpty else { throw ExitCode.failure }
            say("The data in \(directory.path) is sound.")
        }
    }
}

/// `optimist vacuum`: removes what is left of deleted data in a server's file.
struct VacuumCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vacuum", abstract: "Rewrite a server's database without the traces of what was deleted.",
        discussion: """
            Stop the server first. Meanwhile it needs as much space again as the database has. Afterwards nothing of a deleted \
            account is in the directory but its receipt. For a PostgreSQL database use VACUUM FULL.
            """)

    @Option(help: ArgumentHelp("Where the server's data lies.", valueName: "directory"))
    var data: String?

    func run() async throws {
        let directory = DataDirectory.server(data)
        try await explainingErrors(of: "vacuum", at: directory.path) {
            let done = try DataVacuum.run(in: directory)
            say("The database in \(directory.path) had \(done.before) bytes, and has \(done.after).")
        }
    }
}
