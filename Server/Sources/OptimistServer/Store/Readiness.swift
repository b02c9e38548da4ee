// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

/// Tests whether the server can store rows. A read would not notice a full disk or another program's lock.
struct Readiness: Sendable {
    private let file: DatabaseFile
    private let database: DatabaseQueue
    private let scratch: URL

    /// How long to wait for a locked database, in seconds.
    private static let patience = 2.0

    init(database path: String, file: DatabaseFile) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.patience)
        database = try DatabaseQueue(path: path, configuration: configuration)
        scratch = URL(filePath: path).deletingLastPathComponent().appending(path: ".optimist.probe")
        self.file = file
    }

    /// Returns a sentence about the problem, or nil.
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
            return "The server's disk cannot be written."
        }
    }

    /// The database may reuse its free pages, so a write to the database can succeed on a full disk.
    private func writeScratch() throws {
        defer { unlink(scratch.path) }
        try Data(count: 65_536).write(to: scratch)
    }
}
