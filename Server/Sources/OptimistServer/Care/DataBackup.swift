// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore

/// Backs up a server's data directory, even while the server runs, and restores backups.
package enum DataBackup {
    package struct Report: Sendable {
        package var accounts: Int
        /// Including deleted rows.
        package var rows: Int
        package var bytes: Int
    }

    private static let database = DirectoryManifest.database

    /// Copies a data directory as of one moment, even while the server runs. Blocks the thread.
    ///
    /// The copy is a directory that only its owner can read: the database, the keys, the schema, and `backup.json` with
    /// their checksums. The copy gets its final name after it has passed a check, so an interrupted copy leaves nothing
    /// under that name. A killed program may leave a hidden directory next to the target. The next backup to the same
    /// place removes it.
    ///
    /// - Parameters:
    ///   - directory: A server's data directory.
    ///   - target: The directory to make, outside the data directory.
    ///   - begun: Receives the hidden directory, which a program that is asked to stop should remove. Default: does
    ///     nothing.
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data, if the target exists or is inside the
    ///   data directory, or if the copy fails its check; `diskTrouble` if the disk is full or fails.
    package static func backUp(
        _ directory: URL, to target: URL, begun: (URL) -> Void = { _ in }
    ) throws -> Report {
        let source = try ServerDatabase.existingFile(in: directory)
        try refuse(target, inside: directory)
        return try DraftDirectory.make(target, begun: begun) { draft in
            let copy = draft.appending(path: database)
            PrivateFiles.makeDatabase(at: copy.path)
            try ServerDatabase.queue(source.path).inDatabase {
                try $0.execute(sql: "VACUUM INTO ?", arguments: [copy.path])
            }
            try PrivateFiles.closeFiles(in: draft)
            let report = try check(draft)
            try DurableFile.sync(copy)
            var manifest = DirectoryManifest(files: [database: try RegularFile.digest(of: copy)])
            for name in DirectoryManifest.besides {
                let file = directory.appending(path: name)
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                manifest.files[name] = try RegularFile.copy(file, to: draft.appending(path: name), follows: true)
            }
            try DurableFile.create(draft.appending(path: DirectoryManifest.file), manifest.bytes)
            return report
        }
    }

    /// Restores a backup as the data directory of a new server.
    ///
    /// All checksums and the database are checked before the directory gets its name. The server's next start begins a
    /// new epoch: devices compare their rows and upload whatever the backup lacks.
    ///
    /// - Parameters:
    ///   - backup: A directory made by ``backUp(_:to:begun:)``.
    ///   - directory: The data directory to make, outside the backup.
    ///   - begun: As for ``backUp(_:to:begun:)``.
    /// - Throws: As ``backUp(_:to:begun:)``, and with code `unreadableData` if a file is a link, a pipe or damaged.
    package static func restore(
        _ backup: URL, to directory: URL, begun: (URL) -> Void = { _ in }
    ) throws -> Report {
        let manifest = try DirectoryManifest(of: backup)
        try refuse(directory, inside: backup)
        return try DraftDirectory.make(directory, begun: begun) { draft in
            // Copy the keys last, so that an interrupted copy lacks them.
            for name in [database] + DirectoryManifest.besides where manifest.files[name] != nil {
                let digest = try RegularFile.copy(
                    backup.appending(path: name), to: draft.appending(path: name))
                try manifest.check(name, digest, in: backup)
            }
            return try check(draft)
        }
    }

    private static func refuse(_ target: URL, inside source: URL) throws {
        guard target.isInside(source) else { return }
        throw OptimistError(
            .unreadableData,
            "\(target.path) is in \(source.path), the directory being copied. Choose a directory outside it.")
    }

    private static func check(_ directory: URL) throws -> Report {
        let file = directory.appending(path: database)
        let problems = try DataCheck.problems(in: file)
        guard problems.isEmpty else {
            throw OptimistError(
                .unreadableData,
                "The copy failed its check and was removed: \(problems.prefix(3).joined(separator: " ")) Run `optimist check` on the source."
            )
        }
        let (accounts, rows) = try ServerDatabase.queue(file.path).read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_accounts") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_rows") ?? 0
            )
        }
        let bytes = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        return Report(accounts: accounts, rows: rows, bytes: bytes)
    }
}
