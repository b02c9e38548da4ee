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
    private let files = JudgeFiles()
    private let state = Mutex(State())

    static let file = "server.sqlite"

    init(seed: UInt64) { disk = SimulatedDisk(seed: seed) }

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
            try db.execute(
                sql:
                    "INSERT OR IGNORE INTO optimist_accounts(account_id, email, password, created_at) VALUES (?, '', '', '')",
                arguments: [SimulatedServer.account])
        }
        return SQLiteSyncStore(database, commits: nil)
    }

    func rows(after seq: Int64, while process: SimulatedProcess?) throws -> [ServedRow] {
        try read(process) { try Rows.ofServer($0, after: seq) }
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
