// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting

/// The storage of a world's server, for the world and its judges.
protocol ServerData: Sendable {
    /// The disk that faults are injected into. A server with other storage never sees these faults.
    var disk: SimulatedDisk { get }
    /// The mount that the server's process has open, if the disk is in use.
    var mount: DiskMount? { get }
    /// The epoch that the server serves. Empty before the first start, and between a restore and the next start.
    var epoch: String { get }

    /// Opens the storage for a process that starts.
    func open(_ process: SimulatedProcess, _ dependencies: Dependencies) throws -> any SyncStore
    /// Returns the rows that changed after `seq`, read from outside the server.
    ///
    /// - Parameter process: The process that has the storage open, if any.
    func rows(after seq: Int64, while process: SimulatedProcess?) throws -> [ServedRow]
    /// Lets the judges read the server's file. Does nothing if the storage is not a file.
    func inspect(while process: SimulatedProcess?, _ look: (Database) throws -> Void) throws
    /// Copies the current data, and returns a closure that restores it. Nil if there is no data yet.
    func copy(while process: SimulatedProcess?) throws -> (@Sendable () throws -> Void)?
}
