// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation

/// The location of a server's data.
///
/// Options take precedence over the environment, and the environment over the default. The first source that names a
/// directory or a database decides.
struct PlaceOptions: ParsableArguments {
    enum Place {
        case directory(URL)
        case database(url: String)
    }

    @Option(
        help: ArgumentHelp(
            "The directory with the server's data.",
            discussion: "Default: OPTIMIST_DATA in the environment, or your data directory.", valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database that any number of servers share, instead of a directory.",
            discussion: """
                Such as postgres://optimist@db1,db2/optimist?sslmode=verify-full. Default: OPTIMIST_DATABASE in the \
                environment, unless --data is given. The password may be in PGPASSWORD or a password file.
                """, valueName: "url"))
    var database: String?

    func validate() throws { _ = try place }

    /// - Throws: `ValidationError` if one source names both a directory and a database, or if the database is not a
    ///   URL.
    var place: Place {
        get throws {
            let variables = ProcessInfo.processInfo.environment
            return try Self.place(data, database, "--data", "--database")
                ?? Self.place(
                    variables["OPTIMIST_DATA"], variables["OPTIMIST_DATABASE"], "OPTIMIST_DATA", "OPTIMIST_DATABASE")
                ?? .directory(DataDirectory.standard.appending(path: "server"))
        }
    }

    private static func place(
        _ data: String?, _ database: String?, _ dataName: String, _ databaseName: String
    ) throws -> Place? {
        guard let database else { return data.map { .directory(URL(filePath: $0, directoryHint: .isDirectory)) } }
        guard data == nil else { throw ValidationError("Name \(dataName) or \(databaseName), not both.") }
        guard database.hasPrefix("postgres://") || database.hasPrefix("postgresql://") else {
            throw ValidationError("\(databaseName) must be a URL such as postgres://optimist@localhost/optimist.")
        }
        return .database(url: database)
    }
}
