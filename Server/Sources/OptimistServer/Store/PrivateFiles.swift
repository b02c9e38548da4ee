// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import SystemPackage

/// Keeps other users from reading the server's data: the directory has mode 0700 and its files 0600.
enum PrivateFiles {
    private static let secrets = ["optimist.sqlite", "optimist.sqlite-wal", "optimist.sqlite-shm", "keys.json"]
    private static let others: Set = [
        "optimist.sqlite-journal", "optimist.lock", "control.sock", "schema.json", ".keys.json.new",
        ".optimist.probe",
    ]

    /// Creates the data directory, or removes other users' access to an existing one. A directory that belongs to
    /// another user or contains other files is not changed.
    ///
    /// - Throws: ``OptimistError`` `unreadableData` if it cannot be created; `exposedData`, with the command to run, if
    ///   other users keep access.
    static func prepare(_ directory: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw OptimistError(
                .unreadableData, "The data directory \(directory.path) cannot be created.", cause: error)
        }
        guard let found = try? Stat(FilePath(directory.path)), isOpen(found) else { return }
        if holdsOnlyOwnFiles(directory, found), chmod(directory.path, 0o700) == 0 { return }
        throw OptimistError(
            .exposedData,
            """
            Other users of this machine can read \(directory.path). If nothing else needs it, run  \
            chmod 700 '\(directory.path)'  and start again, or choose a separate directory with --data.
            """)
    }

    /// SQLite gives its additional files the same mode.
    static func makeDatabase(at path: String) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// - Throws: ``OptimistError`` `exposedData`, with the command to run, if a file belongs to another user.
    static func closeFiles(in directory: URL) throws {
        for path in secrets.map({ directory.appending(path: $0).path }) {
            guard let found = try? Stat(FilePath(path)), isOpen(found), chmod(path, 0o600) != 0 else { continue }
            throw OptimistError(
                .exposedData,
                "Other users of this machine can read \(path). Run  chmod 600 '\(path)'  and start again.")
        }
    }

    private static func isOpen(_ found: Stat) -> Bool { found.permissions.rawValue & 0o077 != 0 }

    /// False for a shared directory such as /tmp.
    private static func holdsOnlyOwnFiles(_ directory: URL, _ found: Stat) -> Bool {
        guard found.userID.rawValue == geteuid(), !found.permissions.contains(.saveText),
            let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
        else { return false }
        return names.allSatisfy { secrets.contains($0) || others.contains($0) }
    }
}
