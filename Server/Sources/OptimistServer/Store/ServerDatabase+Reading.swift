// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

extension ServerDatabase {
    /// - Throws: `OptimistError` with code `unreadableData` if no server has used the directory.
    static func existingFile(in directory: URL) throws -> URL {
        let file = directory.appending(path: "optimist.sqlite")
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw OptimistError(
                .unreadableData,
                "\(directory.path) does not contain a server's data. Set the right directory with --data.")
        }
        return file
    }

    /// Opens a file without migrating it. Waits up to 5 s for a server that is shutting down.
    static func queue(_ path: String, isReadOnly: Bool = true) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Opens the database if this version of the server wrote it.
    static func openForReading(_ directory: URL) throws -> any DatabaseReader {
        let queue = try queue(try existingFile(in: directory).path)
        let found = try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
        guard found == version else {
            throw OptimistError(
                .unreadableData,
                "\(directory.path) was last served by another version of the server. Start a server of this version on it first."
            )
        }
        return queue
    }
}
