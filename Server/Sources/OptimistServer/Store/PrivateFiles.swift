// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import SystemPackage

/// Sees to it that only the server's own user can read its data: the directory is 0700 and its files are 0600.
enum PrivateFiles {
    private static let secrets = ["optimist.sqlite", "optimist.sqlite-wal", "optimist.sqlite-shm", "keys.json"]
    private static let others: Set = [
        "optimist.sqlite-journal", "optimist.lock", "control.sock", "schema.json", ".keys.json.new",
        ".optimist.probe",
    ]

    /// Makes the data directory, or closes the one that is there to others.
    ///
    /// A directory that also holds other files, or that belongs to another user, is left as it is.
    ///
    /// - Throws: ``OptimistError`` `unreadableData` if it cannot be made, `exposedData` with the command that closes it.
    static func prepare(_ directory: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw OptimistError(
                .unreadableData, "The data directory \(directory.path) cannot be made.", cause: error)
        }
        guard let found = try? Stat(FilePath(directory.path)), isOpen(found) else { return }
        if holdsOnlyOwnFiles(directory, found), chmod(directory.path, 0o700) == 0 { return }
        throw OptimistError(
            .exposedData,
            """
            Other users of this machine can look into \(directory.path). Close it with  chmod 700 '\(directory.path)'  \
            if nothing else needs it, or choose a directory of its own with --data.
            """)
    }

    /// Makes the database's file if there is none, empty. SQLite gives its own files beside the database the same mode.
    static func makeDatabase(at path: String) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Closes the server's files to others.
    ///
    /// - Throws: ``OptimistError`` `exposedData` with the command that closes a file of another user.
    static func closeFiles(in directory: URL) throws {
        for path in secrets.map({ directory.appending(path: $0).path }) {
            guard let found = try? Stat(FilePath(path)), isOpen(found), chmod(path, 0o600) != 0 else { continue }
            throw OptimistError(
                .exposedData,
                "Other users of this machine can read \(path). Close it with  chmod 600 '\(path)'  and start again.")
        }
    }

    private static func isOpen(_ found: Stat) -> Bool { found.permissions.rawValue & 0o077 != 0 }

    /// Whether no other program uses the directory. A directory like /tmp is shared by all.
    private static func holdsOnlyOwnFiles(_ directory: URL, _ found: Stat) -> Bool {
        guard found.userID.rawValue == geteuid(), !found.permissions.contains(.saveText),
            let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
        else { return false }
        return names.allSatisfy { secrets.contains($0) || others.contains($0) }
    }
}
