// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// The SQLite file that an import writes and a gazetteer reads.
enum GazetteerFormat {
    /// "OpGz", in the file's header. It identifies the file type.
    static let applicationID = 0x4F70_477A
    /// The version of the tables below. A file of another version has to be imported again.
    static let version = 1

    /// Makes the tables in an empty file.
    ///
    /// Ids are those of GeoNames, which numbers places and administrative areas together.
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(version);
                CREATE TABLE source (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                CREATE TABLE place (
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL,
                    is_section INTEGER NOT NULL, country TEXT, admin1 TEXT NOT NULL, admin2 TEXT NOT NULL,
                    admin3 TEXT NOT NULL, admin4 TEXT NOT NULL, population INTEGER NOT NULL,
                    belongs_to INTEGER REFERENCES place(id)
                );
                CREATE VIRTUAL TABLE place_box USING rtree(id, south, north, west, east);
                CREATE TABLE area (
                    country TEXT NOT NULL, admin1 TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,
                    PRIMARY KEY (country, admin1)
                ) WITHOUT ROWID;
                CREATE TABLE name (
                    id INTEGER NOT NULL, language TEXT NOT NULL, text TEXT NOT NULL, is_preferred INTEGER NOT NULL,
                    PRIMARY KEY (id, language)
                ) WITHOUT ROWID;
                """)
    }

    /// Opens a file for reading, over one connection, which keeps reading the same file after another replaces it.
    ///
    /// - Throws: `OptimistError` with code `notAGazetteer`.
    static func open(_ file: URL) throws -> DatabaseQueue {
        let (queue, found) = try look(at: file)
        guard found == version else {
            throw OptimistError(
                .notAGazetteer,
                """
                \(file.path) is from another version of Optimist (format \(found), this one reads \(version)). Create \
                it again with `optimist gazetteer import`.
                """)
        }
        return queue
    }

    /// Refuses to replace any file except a gazetteer.
    static func checkReplaceable(_ file: URL) throws {
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        do { _ = try look(at: file) } catch {
            throw OptimistError(
                .gazetteerNotWritten,
                "\(file.path) already exists and is not a gazetteer. Remove it, or choose another file.", cause: error)
        }
    }

    private static func look(at file: URL) throws -> (DatabaseQueue, version: Int) {
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw OptimistError(
                .notAGazetteer, "The file \(file.path) does not exist. Create it with `optimist gazetteer import`.")
        }
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: file.path, configuration: configuration)
            let (id, version) = try queue.read { db in
                (
                    try Int.fetchOne(db, sql: "PRAGMA application_id"),
                    try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
                )
            }
            if id == applicationID { return (queue, version) }
        } catch {
            throw OptimistError(
                .notAGazetteer, "\(file.path) cannot be read as a gazetteer. It was not changed.", cause: error)
        }
        throw OptimistError(
            .notAGazetteer,
            "\(file.path) is a database, but not a gazetteer. Create one with `optimist gazetteer import`.")
    }
}
