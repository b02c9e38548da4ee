// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation

/// Which data a command is for: that of a directory, or that of a PostgreSQL database.
///
/// The options come before the environment, and the environment before the default. The first of them that names a place
/// decides, whichever kind of place it names.
struct PlaceOptions: ParsableArguments {
    enum Place {
        case directory(URL)
        case database(url: String)
    }

    @Option(
        help: ArgumentHelp(
            "Where the server's data lies.",
            discussion: "Default: OPTIMIST_DATA of the environment, or a directory of yours.", valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database that any number of servers share, instead of a directory.",
            discussion: """
                Such as postgres://optimist@db1,db2/optimist?sslmode=verify-full. Default: OPTIMIST_DATABASE of the \
                environment, unless --data is given. A password may come from PGPASSWORD or a password file.
                """, valueName: "url"))
    var database: String?

    func validate() throws { _ = try place }

    /// The place that the options, the environment or the default names.
    ///
    /// - Throws: `ValidationError` if one of them names two places, or a database without a URL.
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
            throw ValidationError("\(databaseName) is a URL such as postgres://optimist@localhost/optimist.")
        }
        return .database(url: database)
    }
}
