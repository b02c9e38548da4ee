// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting

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
    /// Returns the rows that changed after `seq`, read from outside the server.
    ///
    /// - Parameter process: The process that has the storage open, if any.
    func rows(after seq: Int64, while process: SimulatedProcess?) throws -> [ServedRow]
    /// Reads the server's file, if there is one.
    func inspect(while process: SimulatedProcess?, _ look: (Database) throws -> Void) throws
    /// Returns a closure that restores the current data. Nil if there is no data yet.
    func copy(while process: SimulatedProcess?) throws -> (@Sendable () throws -> Void)?
}
