// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistCore
import OptimistPostgres
import OptimistServer

extension PlaceOptions {
    fileprivate static func opening(_ url: String) -> PostgresOpening {
        PostgresOpening(database: PostgresDatabase(url: url), logger: Logger(label: "optimist.care"))
    }
}

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy a server's data, even while the server runs.",
        discussion: """
            The copy is a consistent snapshot of the database, the keys and the schema. It is checked before it gets \
            its name. Anyone who has it can act as any user, so protect it like the server itself. The backup of a \
            database does not contain the servers' secret, and needs pg_dump and pg_restore on this machine.
            """)

    @OptionGroup var options: PlaceOptions

    @Argument(help: ArgumentHelp("The directory to create.", valueName: "directory"))
    var to: String

    func run() async throws {
        let target = URL(filePath: to, directoryHint: .isDirectory)
        let draft = RemovedOnSignal()
        try await explainingErrors(of: "backup", at: to) {
            switch try options.place {
            case .database(let url):
                let done = try await PlaceOptions.opening(url).backUp(to: target) { draft.set($0) }
                say("\(to) has \(done.accounts) accounts and \(done.rows) rows, \(done.bytes) bytes. It was read back.")
                say("The servers' secret is not in it: keep that as well.")
            case .directory(let directory):
                let done = try DataBackup.backUp(directory, to: target) { draft.set($0) }
                say("\(to) has \(done.accounts) accounts and \(done.rows) rows, \(done.bytes) bytes. It was checked.")
            }
        }
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup, as the data of a server.",
        discussion: """
            The data directory must be missing or empty; a database must not contain a server's tables. Then start the \
            server: devices compare their data with the backup, and send the changes that it lacks.
            """)

    @OptionGroup var options: PlaceOptions

    @Argument(help: ArgumentHelp("The directory that `optimist backup` created.", valueName: "directory"))
    var from: String

    func run() async throws {
        let backup = URL(filePath: from, directoryHint: .isDirectory)
        switch try options.place {
        case .database(let url):
            let opening = PlaceOptions.opening(url)
            let place = opening.database.place
            try await explainingErrors(of: "restore", at: place) {
                let done = try await opening.restore(backup)
                say("\(place) has \(done.accounts) accounts and \(done.rows) rows, and a new epoch.")
                say("Start the servers with the same secret as before.")
            }
        case .directory(let directory):
            let draft = RemovedOnSignal()
            try await explainingErrors(of: "restore", at: directory.path) {
                let done = try DataBackup.restore(backup, to: directory) { draft.set($0) }
                say("\(directory.path) has \(done.accounts) accounts and \(done.rows) rows. Start the server on it.")
            }
        }
    }
}

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a server's data, even while the server runs.",
        discussion: """
            Checks the files of all tables and indexes, whether they agree, and whether every row can be \
            read. It changes nothing. The exit status is 1 if there is a problem. pg_amcheck checks the files of a \
            database, if it is on this machine and the database has the extension amcheck.
            """)

    @OptionGroup var options: PlaceOptions

    func run() async throws {
        switch try options.place {
        case .database(let url):
            let opening = PlaceOptions.opening(url)
            try await explainingErrors(of: "check", at: opening.database.place) {
                let check = try await opening.check()
                try show(check.problems, of: opening.database.place)
                if case .notChecked(let reason) = check.files {
                    say("PostgreSQL's own files were not checked. \(reason)")
                }
            }
        case .directory(let directory):
            try await explainingErrors(of: "check", at: directory.path) {
                try show(DataCheck.problems(of: directory), of: directory.path)
            }
        }
    }

    private func show(_ problems: [String], of place: String) throws {
        for problem in problems { say(problem) }
        guard problems.isEmpty else { throw ExitCode.failure }
        say("The data in \(place) is sound.")
    }
}

struct VacuumCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vacuum", abstract: "Rewrite a server's database file without the traces of deleted data.",
        discussion: """
            Stop the server first. The rewrite needs free space for a second copy of the database. Afterwards the \
            directory contains nothing about a deleted account except its receipt. For a PostgreSQL database use \
            VACUUM FULL.
            """)

    @OptionGroup var options: PlaceOptions

    func run() async throws {
        guard case .directory(let directory) = try options.place else {
            throw ValidationError("The data is in a database. Use VACUUM FULL there.")
        }
        try await explainingErrors(of: "vacuum", at: directory.path) {
            let done = try DataVacuum.run(at: directory)
            say("The database in \(directory.path) had \(done.before) bytes, and has \(done.after).")
        }
    }
}
