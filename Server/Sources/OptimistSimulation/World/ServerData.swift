// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting

/// What changed in an account.
struct AccountNews {
    struct Member: Hashable {
        var person: String
        var role: String
        var joinedSeq: Int64
        var endedSeq: Int64?
        var reason: String?
    }

    var account: String
    var seq: Int64
    var rows: [StoredVersion]
    /// All persons who are or were members.
    var members: [Member]
}

/// A row as the server stores it.
struct StoredVersion {
    var table: String
    var id: String
    var generation: Int
    var seq: Int64
    var content: [UInt8]
}

/// The storage of a world's server.
protocol ServerData: Sendable {
    /// Faults are injected into this disk. Other storage never sees them.
    var disk: SimulatedDisk { get }
    /// The mount of the server's process, if it uses the disk.
    var mount: DiskMount? { get }
    /// Empty before the first start, and between a restore and the next start.
    var epoch: String { get }

    /// Opens the storage for a process that starts.
    func open(_ process: SimulatedProcess, _ dependencies: Dependencies) throws -> any SyncStore
    /// Returns what changed in each account after the given transactions, read from outside the server.
    ///
    /// - Parameters:
    ///   - last: The last known transaction of each account.
    ///   - process: The process that has the storage open, if any.
    func news(after last: [String: Int64], while process: SimulatedProcess?) throws -> [AccountNews]
    /// Reads the server's file, if there is one.
    func inspect(while process: SimulatedProcess?, _ look: (Database) throws -> Void) throws
    /// Returns a closure that restores the current data. Nil if there is no data yet.
    func copy(while process: SimulatedProcess?) throws -> (@Sendable () throws -> Void)?
}
