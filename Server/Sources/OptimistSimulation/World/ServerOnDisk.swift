// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
import Synchronization

/// The embedded store on a disk with simulated faults. Every start begins an epoch.
final class ServerOnDisk: ServerData {
    private struct State {
        var mount: DiskMount?
        var epoch = ""
    }

    let disk: SimulatedDisk
    private let persons: [String]
    private let files = JudgeFiles()
    private let state = Mutex(State())

    static let file = "server.sqlite"

    init(seed: UInt64, persons: [String]) {
        disk = SimulatedDisk(seed: seed)
        self.persons = persons
    }

    var mount: DiskMount? { state.withLock(\.mount) }
    var epoch: String { state.withLock(\.epoch) }

    func open(_ process: SimulatedProcess, _ dependencies: Dependencies) throws -> any SyncStore {
        let mount = disk.mount()
        process.onDeath { mount.kill() }
        mount.onDeath { process.kill() }
        let epoch = "e" + dependencies.makeID().uuidString.lowercased().prefix(8)
        state.withLock { $0 = State(mount: mount, epoch: epoch) }
        let database = try ServerDatabase(
            path: mount.url(Self.file).path, epoch: epoch)
        try database.pool.write { db in
            let sql =
                "INSERT OR IGNORE INTO optimist_accounts(account_id, email, password, created_at) VALUES (?, ?, '', '')"
            for person in self.persons { try db.execute(sql: sql, arguments: [person, person]) }
        }
        return SQLiteSyncStore(database, commits: nil)
    }

    func news(after last: [String: Int64], while process: SimulatedProcess?) throws -> [AccountNews] {
        try read(process) { db in
            let seqs = try Row.fetchAll(db, sql: "SELECT account_id, seq FROM optimist_accounts ORDER BY account_id")
            return try seqs.compactMap { row -> AccountNews? in
                let (account, seq): (String, Int64) = (row[0], row[1])
                let known = last[account] ?? 0
                if seq == known { return nil }
                return AccountNews(
                    account: account, seq: seq,
                    rows: try Row.fetchAll(
                        db,
                        sql: """
                            SELECT type, id, generation, seq, content FROM optimist_rows
                            WHERE account_id = ? AND seq > ? ORDER BY seq, ordinal
                            """, arguments: [account, known]
                    ).map {
                        StoredVersion(
                            table: $0[0], id: $0[1], generation: $0[2], seq: $0[3],
                            content: Array(($0[4] as String).utf8))
                    },
                    members: try Row.fetchAll(
                        db,
                        sql: """
                            SELECT person_id, role, joined_seq, ended_seq, reason FROM optimist_members WHERE account_id = ?
                            """, arguments: [account]
                    ).map {
                        AccountNews.Member(
                            person: $0[0], role: $0[1], joinedSeq: $0[2], endedSeq: $0[3], reason: $0[4])
                    })
            }
        }
    }

    func inspect(while process: SimulatedProcess?, _ look: (Database) throws -> Void) throws { try read(process, look) }

    private func read<Value>(_ process: SimulatedProcess?, _ read: (Database) throws -> Value) throws -> Value {
        try files.read(Self.file, on: disk, of: "server", while: process, read)
    }

    /// Copies the bare file if the server is down, and otherwise uses SQLite's backup API. While a process runs, the
    /// log may contain a failed commit that will be overwritten.
    func copy(while process: SimulatedProcess?) throws -> (@Sendable () throws -> Void)? {
        let copy = process == nil ? disk.copy(Self.file) : try backup(process)
        if copy[Self.file]?.isEmpty ?? true { return nil }
        return { [self] in
            disk.remove(Self.file)
            disk.restore(copy)
            state.withLock { $0.epoch = "" }
        }
    }

    private func backup(_ process: SimulatedProcess?) throws -> [String: [UInt8]] {
        let (mount, name) = (disk.mount(), "backup")
        let backup = try DatabaseQueue(path: mount.url(name).path)
        defer { disk.remove(name) }
        do {
            try read(process) { source in try backup.writeWithoutTransaction { try source.backup(to: $0) } }
            try backup.close()
        } catch {
            mount.kill()
            throw error
        }
        return [Self.file: disk.copy(name)[name] ?? []]
    }
}
