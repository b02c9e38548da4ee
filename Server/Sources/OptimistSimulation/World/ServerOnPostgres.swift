// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistPostgres
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization

/// A PostgreSQL database. An epoch begins only when the database is restored.
///
/// The database is not simulated: faults are not injected, and it takes real time but no virtual time. Kills of the
/// server happen between its requests.
final class ServerOnPostgres: ServerData {
    let disk: SimulatedDisk
    private let schema: Schema
    private let database: SynchronousPostgres
    private let store = Mutex<(any SyncStore)?>(nil)

    /// - Throws: `OptimistError` if the database cannot be reached.
    init(url: String, seed: UInt64, persons: [String], schema: Schema) throws {
        disk = SimulatedDisk(seed: seed)
        self.schema = schema
        database = try SynchronousPostgres(url: url, persons: persons)
    }

    deinit { database.remove() }

    var mount: DiskMount? { nil }
    var epoch: String { store.withLock { $0?.epoch ?? "" } }

    func open(_ process: SimulatedProcess, _ dependencies: Dependencies) throws -> any SyncStore {
        let opened = try database.open(schema) {
            "e" + dependencies.makeID().uuidString.lowercased().prefix(8)
        }
        store.withLock { $0 = opened }
        return opened
    }

    func news(after last: [String: Int64], while process: SimulatedProcess?) throws -> [AccountNews] {
        try database.accounts().filter { $0.seq != last[$0.account] ?? 0 }.map { account, seq in
            AccountNews(
                account: account, seq: seq,
                rows: try database.rows(of: account, after: last[account] ?? 0).map {
                    StoredVersion(
                        table: $0.type, id: $0.id, generation: $0.generation, seq: $0.seq, content: $0.content)
                },
                members: try database.members(of: account).map {
                    AccountNews.Member(
                        person: $0.person, role: $0.role, joinedSeq: $0.joinedSeq, endedSeq: $0.endedSeq,
                        reason: $0.reason)
                })
        }
    }

    func inspect(while process: SimulatedProcess?, _ look: (Database) throws -> Void) {}

    func copy(while process: SimulatedProcess?) throws -> (@Sendable () throws -> Void)? {
        let copy = try database.copy()
        return { [self] in
            try copy()
            store.withLock { $0 = nil }
        }
    }
}
