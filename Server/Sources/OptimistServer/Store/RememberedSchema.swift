// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore
package import OptimistWire

/// The schema that a server's data was last served with. The data keeps it, and so do its backups.
package enum RememberedSchema {
    /// Reads the schema from a data directory, also while a server runs on it. It changes nothing, and blocks the thread.
    ///
    /// - Returns: Nil if there is no data, or no server has served it yet.
    /// - Throws: `OptimistError` with code `newerData`, `unreadableData`, `dataInUse` or `schemaConflict`.
    package static func read(in directory: URL) throws -> Schema? {
        let path = directory.appending(path: "optimist.sqlite").path
        try ServerDatabase.refuseStrangers(path)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let content: String?
        do { content = try ServerDatabase.queue(path).read(latest) } catch {
            throw ServerDatabase.problem(error, at: path)
        }
        return try content.map { try schema(of: $0) }
    }

    /// A server that died at its first start has left a file without tables.
    private static func latest(_ db: Database) throws -> String? {
        guard try db.tableExists("optimist_schemas") else { return nil }
        return try String.fetchOne(db, sql: "SELECT content FROM optimist_schemas ORDER BY version DESC LIMIT 1")
    }

    /// Reads a schema as the data keeps it.
    ///
    /// - Throws: `OptimistError` with code `schemaConflict` that says what to do.
    package static func schema(of content: String) throws -> Schema {
        do { return try Schema(json: JSON(parsing: content.utf8)) } catch {
            throw OptimistError(
                .schemaConflict,
                "The schema that the data was last served with cannot be read. Name it with --schema FILE.",
                cause: error)
        }
    }
}
