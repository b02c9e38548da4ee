// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// What a backup of a directory says about its files, in `backup.json`.
struct DirectoryManifest: Codable, Equatable {
    static let file = "backup.json"
    static let database = "optimist.sqlite"
    /// The other files that a backup may have. The keys come last.
    static let besides = ["schema.json", "keys.json"]

    /// The SHA-256 of each file, in hexadecimal digits.
    var files: [String: String]

    init(files: [String: String]) { self.files = files }

    /// Reads the manifest of a backup.
    ///
    /// - Throws: `OptimistError` with code `unreadableData`.
    init(of backup: URL) throws {
        guard FileManager.default.fileExists(atPath: backup.appending(path: Self.database).path) else {
            let isOther = FileManager.default.fileExists(atPath: backup.appending(path: "optimist.dump").path)
            throw OptimistError(
                .unreadableData,
                isOther
                    ? "\(backup.path) is a backup of a database. Restore it into one with --database."
                    : "There is no backup in \(backup.path). Name the directory that `optimist backup` made.")
        }
        let file = backup.appending(path: Self.file)
        do {
            self = try JSONDecoder().decode(Self.self, from: RegularFile.content(of: file))
        } catch let error as OptimistError {
            throw error
        } catch {
            throw OptimistError(
                .unreadableData, "\(file.path) cannot be read. Take another backup. Nothing was restored.", cause: error
            )
        }
        guard files[Self.database] != nil, Set(files.keys).isSubset(of: [Self.database] + Self.besides) else {
            throw OptimistError(
                .unreadableData,
                "\(file.path) does not name the files of a backup. Take another one. Nothing was restored.")
        }
    }

    var bytes: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return Array(try encoder.encode(self))
        }
    }

    /// - Throws: `OptimistError` with code `unreadableData` if the digest is not the one of the file.
    func check(_ name: String, _ digest: String, in backup: URL) throws {
        if files[name] == digest { return }
        throw OptimistError(
            .unreadableData,
            """
            \(backup.appending(path: name).path) is damaged: it is not the file that was written. Take another backup. \
            Nothing was restored.
            """)
    }
}
