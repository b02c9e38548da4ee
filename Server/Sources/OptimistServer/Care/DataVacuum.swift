// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore

package enum DataVacuum {
    /// Rewrites the database of a stopped server, so that its files no longer contain deleted data. Blocks the thread
    /// and temporarily needs twice the space of the database.
    ///
    /// - Returns: The size of the database and its write-ahead log before and after, in bytes.
    /// - Throws: `OptimistError` with code `dataInUse` while a server runs on the directory, `unreadableData` if there
    ///   is no data or it cannot be read, `diskTrouble` if the disk is full or fails. The data is then unchanged.
    package static func run(at directory: URL) throws -> (before: Int, after: Int) {
        let file = try ServerDatabase.existingFile(in: directory)
        let lock = try DirectoryLock(directory: directory)
        defer { lock.release() }
        return try OptimistError.explainingDisk(of: directory) {
            let before = try size(of: file)
            do {
                let queue = try ServerDatabase.queue(file.path, isReadOnly: false)
                try queue.writeWithoutTransaction { db in
                    // The log keeps deleted content until it is truncated.
                    try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
                }
                try queue.close()
            } catch {
                throw ServerDatabase.problem(error, at: file.path)
            }
            return (before, try size(of: file))
        }
    }

    private static func size(of file: URL) throws -> Int {
        try [file.path, file.path + "-wal"].filter(FileManager.default.fileExists(atPath:))
            .map { try FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int ?? 0 }
            .reduce(0, +)
    }
}
