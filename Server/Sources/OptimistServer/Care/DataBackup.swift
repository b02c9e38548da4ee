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
    /// checked before it gets its name. If the copy is interrupted, there is nothing under that name. A program that is
    /// killed may leave a hidden directory beside it, which the next copy to this place removes. It blocks the thread.
    ///
    /// - Parameters:
    ///   - directory: A server's data directory.
    ///   - target: The directory to make.
    ///   - begun: Gets the hidden directory in which the copy grows: a program that is asked to end removes that. Default:
    ///     nothing.
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data, the target exists, or the copy is not sound;
    ///   `diskTrouble` if the disk is full or fails.
    public static func backUp(
        _ directory: URL, to target: URL, begun: (URL) -> Void = { _ in }
    ) throws -> Report {
        try make(target, from: directory, begun: begun) { copy in
            let source = try ServerDatabase.existingFile(in: directory)
            PrivateFiles.makeDatabase(at: copy.path)
            try ServerDatabase.queue(source.path).inDatabase {
                try $0.execute(sql: "VACUUM INTO ?", arguments: [copy.path])
            }
        }
    }

    /// Puts a backup in place, as the data directory of a server that is not there yet. The backup stays.
    ///
    /// The server's next start begins an epoch. Devices then compare what they have, and send what is not in the backup.
    ///
    /// - Parameters:
    ///   - backup: The directory that ``backUp(_:to:begun:)`` made.
    ///   - directory: The data directory to make.
    ///   - begun: As ``backUp(_:to:begun:)``.
    /// - Throws: As ``backUp(_:to:begun:)``.
    public static func restore(
        _ backup: URL, to directory: URL, begun: (URL) -> Void = { _ in }
    ) throws -> Report {
        try make(directory, from: backup, begun: begun) { copy in
            let source = backup.appending(path: database)
            guard FileManager.default.fileExists(atPath: source.path) else {
                throw OptimistError(
                    .unreadableData,
                    "There is no backup in \(backup.path). Name the directory that `optimist backup` made.")
            }
            try FileManager.default.copyItem(at: source, to: copy)
        }
    }

    /// Makes a directory of a checked database and the files beside it. The keys come last, so that an interrupted copy
    /// has none.
    private static func make(
        _ target: URL, from source: URL, begun: (URL) -> Void, _ copyDatabase: (URL) throws -> Void
    ) throws -> Report {
        try DraftDirectory.make(target, begun: begun) { draft in
            try copyDatabase(draft.appending(path: database))
            try PrivateFiles.closeFiles(in: draft)
            let report = try check(draft)
            try DurableFile.sync(draft.appending(path: database))
            try copyBesides(from: source, to: draft)
            return report
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
