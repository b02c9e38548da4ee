// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// PostgreSQL's client programs on this machine, such as `pg_dump`.
struct ClientPrograms {
    private let directory: URL
    let words: ConnectionWords

    /// Finds a directory with a program of at least the server's major version, because older programs refuse to
    /// connect. The other programs are taken from the same directory.
    ///
    /// - Throws: `OptimistError` with code `programMissing`. The message says what to install.
    init(with program: String, atLeast major: Int, _ words: ConnectionWords) throws {
        var found: [Int] = []
        for directory in InstalledPostgres.directories {
            guard let version = Self.version(of: directory.appending(path: program)) else { continue }
            found.append(version)
            guard version >= major else { continue }
            self.directory = directory
            self.words = words
            return
        }
        let present = found.max().map { "has version \($0)" } ?? "is not installed"
        throw OptimistError(
            .programMissing,
            """
            The database runs PostgreSQL \(major), but \(program) \(present) on this machine. Install PostgreSQL's \
            client programs of version \(major) or later (on Debian: apt-get install postgresql-client).
            """)
    }

    private static func version(of program: URL) -> Int? {
        guard FileManager.default.isExecutableFile(atPath: program.path) else { return nil }
        let process = Process()
        process.executableURL = program
        process.arguments = ["--version"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil, let said = try? output.fileHandleForReading.readToEnd() else { return nil }
        process.waitUntilExit()
        return majorVersion(in: String(decoding: said, as: UTF8.self))
    }

    /// The major version in text such as `pg_dump (PostgreSQL) 16.4 (Debian 16.4-1)`.
    static func majorVersion(in answer: String) -> Int? {
        answer.firstMatch(of: /\(PostgreSQL\) (\d+)/).flatMap { Int($0.1) }
    }

    struct Ending {
        var status: Int32
        var errors: String

        func failure(of program: String, _ consequence: String) -> OptimistError {
            let words = errors.isEmpty ? "It exited with status \(status)." : "It reported: \(errors)"
            return OptimistError(.databaseUnreachable, "\(program) failed. \(consequence) \(words)")
        }
    }

    /// Runs a program that connects to the database. Blocks the thread.
    ///
    /// - Throws: `CocoaError` if the program cannot be started.
    func connect(_ program: String, _ arguments: [String]) throws -> Ending {
        try run(program, ["--dbname", words.argument, "--no-password"] + arguments)
    }

    /// Runs a program. Blocks the thread.
    ///
    /// - Parameter output: Receives the standard output in pieces.
    /// - Throws: `CocoaError` if the program cannot be started, or what `output` throws.
    func run(_ program: String, _ arguments: [String], output: (Data) throws -> Void = { _ in }) throws -> Ending {
        let process = Process()
        process.executableURL = directory.appending(path: program)
        process.arguments = arguments
        // The program must report errors in English, because an operator reads them, and must never prompt for a
        // password.
        process.environment = ProcessInfo.processInfo.environment.merging(words.environment) { $1 }
            .merging(["LC_ALL": "C"]) { $1 }
        process.standardInput = FileHandle.nullDevice
        let (said, errors) = (Pipe(), Pipe())
        process.standardOutput = said
        process.standardError = errors
        try process.run()
        do {
            while let piece = try said.fileHandleForReading.read(upToCount: 1 << 16), !piece.isEmpty {
                try output(piece)
            }
        } catch {
            process.terminate()
            process.waitUntilExit()
            throw error
        }
        // These programs stop at their first error, so their error output fits into the pipe.
        let words = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let status = process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
        return Ending(
            status: status,
            errors: String(decoding: words, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

extension OptimistError.Code {
    /// A program that a command needs is missing or too old. The message says what to install.
    static let programMissing = Self("programMissing")
}
