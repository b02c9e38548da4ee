// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// Whether the server can store the rows that it receives. It tries a write: to a program that only reads, a database
/// on a full disk, or locked by another program, looks in order.
actor Readiness {
    private let file: DatabaseFile
    private let database: DatabaseQueue
    private let scratch: URL
    private let now: @Sendable () -> Date
    private var running: Task<String?, Never>?
    private var last: (trouble: String?, time: Date)?

    /// How long a database may be locked before that is trouble, in seconds.
    private static let patience = 2.0
    /// For how long an answer is good, in seconds: anybody may ask, and each try is a write to the disk.
    private static let freshness = 1.0

    /// - Parameter database: The path of a database that is open already.
    init(database path: String, file: DatabaseFile, now: @escaping @Sendable () -> Date) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.patience)
        database = try DatabaseQueue(path: path, configuration: configuration)
        scratch = URL(filePath: path).deletingLastPathComponent().appending(path: ".optimist.probe")
        self.file = file
        self.now = now
    }

    /// Returns what is wrong, in a sentence, or nil.
    func trouble() async -> String? {
        if let running { return await running.value }
        let time = now()
        if let last, abs(time.timeIntervalSince(last.time)) < Self.freshness { return last.trouble }
        // Those who ask at the same time share one try, so it belongs to none of them.
        let task = Task { await attempt(at: time) }
        running = task
        let trouble = await task.value
        running = nil
        last = (trouble, time)
        return trouble
    }

    private func attempt(at time: Date) async -> String? {
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
            return RequestProblem(error).detail
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
