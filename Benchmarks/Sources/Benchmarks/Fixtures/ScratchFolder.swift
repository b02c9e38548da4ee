// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

struct ScratchFolder: Sendable {
    let url: URL

    static func using<Result>(_ work: (ScratchFolder) async throws -> Result) async throws -> Result {
        let url = FileManager.default.temporaryDirectory.appending(path: "optimist-benchmarks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try await work(ScratchFolder(url: url))
    }

    func file() -> URL { url.appending(path: "\(UUID().uuidString).sqlite") }

    func store(
        at file: URL? = nil, durability: Store.Durability = .normal, isIndexed: Bool = false
    ) throws -> Store {
        try Store(at: file ?? self.file(), synced: [Todo.self], durability: durability) {
            Todo.migrate(&$0, isIndexed: isIndexed)
        }
    }

    /// Opens the same database without Optimist.
    func plain(
        at file: URL? = nil, durability: Store.Durability = .normal, isIndexed: Bool = false
    ) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let pool = try DatabasePool(path: (file ?? self.file()).path, configuration: configuration)
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = \(durability == .full ? "FULL" : "NORMAL")")
        }
        var migrator = DatabaseMigrator()
        Todo.migrate(&migrator, isIndexed: isIndexed)
        try migrator.migrate(pool)
        return pool
    }

    /// Moves the write-ahead log into the file, and returns the file's size in bytes.
    ///
    /// Retries, because a store that has just been released may still be checkpointing.
    @discardableResult
    func checkpoint(_ file: URL) throws -> Int {
        let queue = try DatabaseQueue(path: file.path)
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                _ = try queue.inDatabase { try $0.checkpoint(.truncate) }
                break
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && .now < deadline {
                Thread.sleep(forTimeInterval: 0.01)
            }
        }
        try queue.close()
        return try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }

    /// The file must be checkpointed and closed.
    func copy(of file: URL) throws -> URL {
        let copy = self.file()
        try FileManager.default.copyItem(at: file, to: copy)
        return copy
    }
}
