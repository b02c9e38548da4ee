// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore

/// Copies a server's data directory, also while the server runs, and puts a copy in place.
public enum DataBackup {
    /// A finished copy.
    public struct Report: Sendable {
        /// The number of accounts in the copy.
        public var accounts: Int
        /// The number of rows in the copy, with deleted ones.
        public var rows: Int
        /// The size of the database, in bytes.
        public var bytes: Int
    }

    private static let database = "optimist.sqlite"
    private static let besides = ["keys.json", "schema.json"]

    /// Copies a data directory as it is at one moment. Writes of a running server go on meanwhile, and are not in the copy.
    ///
    /// The copy is a directory that only its owner can read: the database, the keys and the schema. It is opened and
    /// checked before it gets its name. If the copy is interrupted, there is nothing under that name. It blocks the thread.
    ///
    /// - Parameters:
    ///   - directory: A server's data directory.
    ///   - target: The directory to make.
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data, the target exists, or the copy is not sound;
    ///   `diskTrouble` if the disk is full or fails.
    public static func backUp(_ directory: URL, to target: URL) throws -> Report {
        try make(target) { draft in
            let source = try ServerDatabase.existingFile(in: directory)
            let copy = draft.appending(path: database).path
            PrivateFiles.makeDatabase(at: copy)
            try ServerDatabase.queue(source.path).inDatabase {
                try $0.execute(sql: "VACUUM INTO ?", arguments: [copy])
            }
            try copyBesides(from: directory, to: draft)
        }
    }

    /// Puts a backup in place, as the data directory of a server that is not there yet. The backup stays.
    ///
    /// The server's next start begins an epoch. Devices then compare what they have, and send what is not in the backup.
    ///
    /// - Parameters:
    ///   - backup: The directory that ``backUp(_:to:)`` made.
    ///   - directory: The data directory to make.
    /// - Throws: As ``backUp(_:to:)``.
    public static func restore(_ backup: URL, to directory: URL) throws -> Report {
        try make(directory) { draft in
            let source = backup.appending(path: database)
            guard FileManager.default.fileExists(atPath: source.path) else {
                throw OptimistError(
                    .unreadableData,
                    "There is no backup in \(backup.path). Name the directory that `optimist backup` made.")
            }
            try FileManager.default.copyItem(at: source, to: draft.appending(path: database))
            try copyBesides(from: backup, to: draft)
        }
    }

    /// Makes a directory under another name, checks it, and gives it its name.
    private static func make(_ target: URL, _ fill: (URL) throws -> Void) throws -> Report {
        let files = FileManager.default
        if let found = try? files.contentsOfDirectory(atPath: target.path), !found.isEmpty {
            throw OptimistError(
                .unreadableData,
                "\(target.path) is there already, and nothing in it is replaced. Name another directory.")
        }
        let draft = target.deletingLastPathComponent().appending(path: ".\(target.lastPathComponent).partial")
        return try OptimistError.explainingDisk(of: target.deletingLastPathComponent()) {
            try? files.removeItem(at: draft)
            do {
                try files.createDirectory(
                    at: draft, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try fill(draft)
                try PrivateFiles.closeFiles(in: draft)
                let report = try check(draft)
                // The other files are durable since they were made.
                try DurableFile.sync(draft.appending(path: database))
                try DurableFile.sync(draft)
                rmdir(target.path)  // An empty one may be there.
                try files.moveItem(at: draft, to: target)
                try DurableFile.sync(target.deletingLastPathComponent())
                return report
            } catch {
                try? files.removeItem(at: draft)
                throw error
            }
        }
    }

    private static func copyBesides(from source: URL, to target: URL) throws {
        for name in besides {
            let file = source.appending(path: name)
            guard FileManager.default.fileExists(atPath: file.path) else { continue }
            try DurableFile.create(target.appending(path: name), Array(try Data(contentsOf: file)))
        }
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
