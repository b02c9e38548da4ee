// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

/// Tries whether the server can store the rows that it receives. A read would not notice a full disk, or a lock of
/// another program.
struct Readiness: Sendable {
    private let file: DatabaseFile
    private let database: DatabaseQueue
    private let scratch: URL

    /// How long a database may be locked before that is trouble, in seconds.
    private static let patience = 2.0

    /// - Parameter database: The path of a database that is open already.
    init(database path: String, file: DatabaseFile) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.patience)
        database = try DatabaseQueue(path: path, configuration: configuration)
        scratch = URL(filePath: path).deletingLastPathComponent().appending(path: ".optimist.probe")
        self.file = file
    }

    /// Tries a write. Returns a sentence about the trouble, or nil if it worked.
    func attempt(at time: Date) async -> String? {
        do {
            try file.check()
            try await database.write { db in
                try db.execute(
                    sql: "INSERT OR REPLACE INTO optimist_settings (name, value) VALUES ('ready', ?)",
                    arguments: ["\(time.timeIntervalSince1970)"])
            }
            try writeScratch()
            return nil
        } catch let problem as RequestProblem {
            return problem.detail
        } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {
            return "Another program has locked the data."
        } catch let error as DatabaseError {
            return error.detail
        } catch {
            return "Nothing can be written to the server's disk."
        }
    }

    /// The database may find room in what it has already. The disk may have none all the same.
    private func writeScratch() throws {
        defer { unlink(scratch.path) }
        try Data(count: 65_536).write(to: scratch)
    }
}
