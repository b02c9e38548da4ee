// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// Reading the file of a data directory beside a server that may be running on it.
extension ServerDatabase {
    /// The database of a server that has been started on a directory before.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if there is none.
    static func existingFile(in directory: URL) throws -> URL {
        let file = directory.appending(path: "optimist.sqlite")
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw OptimistError(
                .unreadableData, "There is no server's data in \(directory.path). Name its directory with --data.")
        }
        return file
    }

    /// Opens a file as it is. A server that has just ended may still be closing it: that is waited for, 5 s at most.
    static func queue(_ path: String, isReadOnly: Bool = true) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Opens the file in a data directory for reading only, if this version of the server wrote it.
    static func openForReading(_ directory: URL) throws -> any DatabaseReader {
        let queue = try queue(try existingFile(in: directory).path)
        let found = try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
        guard found == version else {
            throw OptimistError(
                .unreadableData,
                "\(directory.path) was last served by another version of the server. Start this version on it once.")
        }
        return queue
    }
}
