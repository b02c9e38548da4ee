// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistPostgres
import Subprocess

/// The PostgreSQL programs on this machine, such as `initdb`.
///
/// PostgreSQL refuses to run as root, so root runs them as the user postgres, which Debian's package creates.
struct PostgresPrograms: Sendable {
    private let directory: String
    private let isRoot = geteuid() == 0

    /// - Throws: `OptimistError` with code `badLabData` if PostgreSQL is not installed.
    init() throws {
        // A symbolic link to `initdb` may be in a different directory from the other programs.
        let places = InstalledPostgres.directories.map { $0.appending(path: "initdb").resolvingSymlinksInPath() }
        guard let found = places.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            throw OptimistError(
                .badLabData,
                """
                PostgreSQL is not installed on this machine. Install it (on Debian: apt-get install postgresql), or name \
                a database with --database postgres://….
                """)
        }
        directory = found.deletingLastPathComponent().path
    }

    /// - Returns: The program's output.
    /// - Throws: `OptimistError` with code `badLabData` and the output if the program fails.
    @discardableResult
    func run(_ program: String, _ arguments: [String]) async throws -> String {
        let path = "\(directory)/\(program)"
        let words = (isRoot ? ["runuser", "-u", "postgres", "--"] : []) + [path] + arguments
        // The user postgres may lack access to the lab's current directory.
        let result = try await Subprocess.run(
            .name("sh"), arguments: Arguments(["-c", "cd / && exec \"$@\"", "sh"] + words),
            output: .string(limit: 1 << 20), error: .combinedWithOutput)
        let said = result.standardOutput
        guard result.terminationStatus.isSuccess else {
            throw OptimistError(.badLabData, "\(program): \(said.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
        return said
    }

    /// Creates a directory that the programs own.
    ///
    /// - Throws: `OptimistError` with code `badLabData` if the programs cannot enter the directory.
    func makeDirectory(_ directory: URL) async throws {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        guard isRoot else { return }
        try FileManager.default.setAttributes(
            [.ownerAccountName: "postgres", .groupOwnerAccountName: "postgres"], ofItemAtPath: directory.path)
        let entered = try await Subprocess.run(
            .name("runuser"), arguments: ["-u", "postgres", "--", "test", "-w", directory.path], output: .discarded)
        guard entered.terminationStatus.isSuccess else {
            throw OptimistError(
                .badLabData,
                """
                PostgreSQL runs as the user postgres, who cannot enter \(directory.path). Name a folder that other \
                users can enter with --data, or run the lab as a user other than root.
                """)
        }
    }
}
