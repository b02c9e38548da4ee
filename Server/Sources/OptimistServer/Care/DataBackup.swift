// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore

/// Copies a server's data directory, also while the server runs, and puts a copy in place.
package enum DataBackup {
    /// A finished copy.
    package struct Report: Sendable {
        /// The number of accounts in the copy.
        package var accounts: Int
        /// The number of rows in the copy, with deleted ones.
        package var rows: Int
        /// The size of the database, in bytes.
        package var bytes: Int
    }

    private static let database = DirectoryManifest.database

    /// Copies a data directory as it is at one moment. Writes of a running server go on meanwhile, and are not in the copy.
    ///
    /// The copy is a directory that only its owner can read: the database, the keys, the schema, and `backup.json` with
    /// their checksums. It is opened and checked before it gets its name. If the copy is interrupted, there is nothing under
    /// that name. A program that is killed may leave a hidden directory beside it, which the next copy to this place
    /// removes. It blocks the thread.
    ///
    /// - Parameters:
    ///   - directory: A server's data directory.
    ///   - target: The directory to make, outside the data directory.
    ///   - begun: Gets the hidden directory in which the copy grows: a program that is asked to end removes that. Default:
    ///     nothing.
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data, the target exists or is in the data
    ///   directory, or the copy is not sound; `diskTrouble` if the disk is full or fails.
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

    /// Puts a backup in place, as the data directory of a server that is not there yet. The backup stays.
    ///
    /// Every file is compared with its checksum, and the database is checked, before the directory gets its name. The
    /// server's next start begins an epoch. Devices then compare what they have, and send what is not in the backup.
    ///
    /// - Parameters:
    ///   - backup: The directory that ``backUp(_:to:begun:)`` made.
    ///   - directory: The data directory to make, outside the backup.
    ///   - begun: As ``backUp(_:to:begun:)``.
    /// - Throws: As ``backUp(_:to:begun:)``, and with code `unreadableData` if a file is a link or a pipe, or is damaged.
    package static func restore(
        _ backup: URL, to directory: URL, begun: (URL) -> Void = { _ in }
    ) throws -> Report {
        let manifest = try DirectoryManifest(of: backup)
        try refuse(directory, inside: backup)
        return try DraftDirectory.make(directory, begun: begun) { draft in
            // The keys come last, so that an interrupted copy has none.
            for name in [database] + DirectoryManifest.besides where manifest.files[name] != nil {
                let digest = try RegularFile.copy(
                    backup.appending(path: name), to: draft.appending(path: name))
                try manifest.check(name, digest, in: backup)
            }
            return try check(draft)
        }
    }

    /// Refuses a target within the directory that is copied.
    private static func refuse(_ target: URL, inside source: URL) throws {
        let (inner, outer) = (resolved(target), resolved(source))
        guard inner.starts(with: outer) else { return }
        throw OptimistError(
            .unreadableData, "\(target.path) is in \(source.path), which is copied. Name a directory elsewhere.")
    }

    /// The parts of a path, with the links in the part of it that is there resolved.
    private static func resolved(_ url: URL) -> [String] {
        var (present, rest): (URL, [String]) = (url.absoluteURL.standardizedFileURL, [])
        while !FileManager.default.fileExists(atPath: present.path), present.pathComponents.count > 1 {
            rest.insert(present.lastPathComponent, at: 0)
            present.deleteLastPathComponent()
        }
        return present.resolvingSymlinksInPath().pathComponents + rest
    }

    private static func check(_ directory: URL) throws -> Report {
        let file = directory.appending(path: database)
        let problems = try DataCheck.problems(in: file)
        guard problems.isEmpty else {
            throw OptimistError(
                .unreadableData,
                "The copy is not sound, so it was removed: \(problems.prefix(3).joined(separator: " ")) Run `optimist check` on the source."
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
