// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

struct DirectoryManifest: Codable, Equatable {
    static let file = "backup.json"
    static let database = "optimist.sqlite"
    /// The files that a backup may contain besides the database. The keys are copied last.
    static let besides = ["schema.json", "keys.json"]

    /// SHA-256 in hexadecimal digits, by file name.
    var files: [String: String]

    init(files: [String: String]) { self.files = files }

    /// - Throws: `OptimistError` with code `unreadableData`.
    init(of backup: URL) throws {
        guard FileManager.default.fileExists(atPath: backup.appending(path: Self.database).path) else {
            let isOther = FileManager.default.fileExists(atPath: backup.appending(path: "optimist.dump").path)
            throw OptimistError(
                .unreadableData,
                isOther
                    ? "\(backup.path) is a backup of a PostgreSQL database. Restore it with --database."
                    : "\(backup.path) does not contain a backup. Name a directory that `optimist backup` created.")
        }
        let file = backup.appending(path: Self.file)
        do {
            self = try JSONDecoder().decode(Self.self, from: RegularFile.content(of: file))
        } catch let error as OptimistError {
            throw error
        } catch {
            throw OptimistError(
                .unreadableData, "\(file.path) cannot be read. Nothing was restored. Use another backup.", cause: error
            )
        }
        guard files[Self.database] != nil, Set(files.keys).isSubset(of: [Self.database] + Self.besides) else {
            throw OptimistError(
                .unreadableData,
                "\(file.path) does not list the files of a backup. Nothing was restored. Use another backup.")
        }
    }

    var bytes: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return Array(try encoder.encode(self))
        }
    }

    /// - Throws: `OptimistError` with code `unreadableData` if the digest differs.
    func check(_ name: String, _ digest: String, in backup: URL) throws {
        if files[name] == digest { return }
        throw OptimistError(
            .unreadableData,
            """
            \(backup.appending(path: name).path) is damaged: its checksum does not match. Nothing was restored. \
            Use another backup.
            """)
    }
}
