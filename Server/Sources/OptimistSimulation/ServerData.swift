// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting

/// What a world's server keeps its rows in, as the world and its judges handle it.
protocol ServerData: Sendable {
    /// The disk whose faults the world draws. A server that has its rows elsewhere meets none of them.
    var disk: SimulatedDisk { get }
    /// What the server's process has open now.
    var mount: DiskMount? { get }
    /// The epoch that the server serves. Empty while there is none in which anybody could be caught up.
    var epoch: String { get }

    /// Opens the rows for a process that starts.
    func open(_ process: SimulatedProcess, _ dependencies: Dependencies) throws -> any SyncStore
    /// The rows that a transaction after `seq` changed, as another program reads them.
    ///
    /// - Parameter process: The process that has them open. Nil: none has.
    func rows(after seq: Int64, while process: SimulatedProcess?) throws -> [ServedRow]
    /// Lets the judges look at the server's file, if it has one.
    func inspect(while process: SimulatedProcess?, _ look: (Database) throws -> Void) throws
    /// Copies everything as it is now, and returns what puts it back later. Nil: there is nothing yet.
    func copy(while process: SimulatedProcess?) throws -> (@Sendable () throws -> Void)?
}
