// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
package import OptimistCore
package import OptimistWire

/// The schema that was last served, stored with the data and in its backups.
package enum RememberedSchema {
    /// Reads the schema from a data directory, even while a server runs on it. Blocks the thread.
    ///
    /// - Returns: Nil if there is no data or no server has served it.
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

    /// The table is missing if a server crashed during its first start.
    private static func latest(_ db: Database) throws -> String? {
        guard try db.tableExists("optimist_schemas") else { return nil }
        return try String.fetchOne(db, sql: "SELECT content FROM optimist_schemas ORDER BY version DESC LIMIT 1")
    }

    /// - Throws: `OptimistError` with code `schemaConflict`. The message says what to do.
    package static func schema(of content: String) throws -> Schema {
        do { return try Schema(json: JSON(parsing: content.utf8)) } catch {
            throw OptimistError(
                .schemaConflict,
                "The schema stored with the data cannot be read. Pass it with --schema FILE.",
                cause: error)
        }
    }
}

extension OptimistError {
    /// A command needs the schema of data that no server has served.
    package static func noServedSchema(at place: String) -> Self {
        OptimistError(
            .schemaConflict, "No server has served \(place), so its schema is not known. Start a server on it first.")
    }
}
