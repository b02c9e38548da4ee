// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer

/// The description of a backup's dump, in `backup.json`.
struct BackupManifest: Codable, Equatable {
    /// `pg_restore` restores the tables to a database schema of this name.
    var schema: String
    /// The row counts.
    var tables: [String: Int]
    /// The dump's SHA-256, in hexadecimal.
    var sha256: String

    static let file = "backup.json"
    static let dump = "optimist.dump"

    /// Reads the manifest of a backup, and compares the dump's checksum with it.
    ///
    /// - Throws: `OptimistError` with code `unreadableData`.
    init(of backup: URL) throws {
        let dump = backup.appending(path: Self.dump)
        guard FileManager.default.fileExists(atPath: dump.path) else {
            let isOther = FileManager.default.fileExists(atPath: backup.appending(path: "optimist.sqlite").path)
            throw OptimistError(
                .unreadableData,
                isOther
                    ? """
                    \(backup.path) is a backup of a directory. Restore it to a directory with --data, then copy that into the \
                    database with `optimist copy`.
                    """
                    : "\(backup.path) does not contain a backup. Name a directory that `optimist backup` created.")
        }
        do {
            let text = try RegularFile.content(of: backup.appending(path: Self.file))
            self = try JSONDecoder().decode(Self.self, from: text)
        } catch let error as OptimistError {
            throw error
        } catch {
            throw OptimistError(
                .unreadableData, "\(backup.path)/\(Self.file) cannot be read. Take another backup.", cause: error)
        }
        guard try Self.digest(of: dump) == sha256 else {
            throw OptimistError(
                .unreadableData,
                "\(dump.path) is damaged: its checksum is wrong. Use another backup. Nothing was restored."
            )
        }
    }

    init(schema: String, tables: [String: Int], sha256: String) {
        self.schema = schema
        self.tables = tables
        self.sha256 = sha256
    }

    var bytes: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return Array(try encoder.encode(self))
        }
    }

    static func digest(of file: URL) throws -> String { try RegularFile.digest(of: file) }
}
