// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import Synchronization

/// The files as the judges read them: as another process would, by connections that end with the process whose file it is.
final class JudgeFiles: Sendable {
    private struct Connection {
        let mount: DiskMount
        let queue: DatabaseQueue
    }

    private let connections = Mutex<[String: Connection]>([:])

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - owner: Names the file among all.
    ///   - process: The process that has it open. Nil: no process has, and a copy is read.
    func read<Value>(
        _ name: String, on disk: SimulatedDisk, of owner: String, while process: SimulatedProcess?,
        _ read: (Database) throws -> Value
    ) throws -> Value {
        if let known = connections.withLock({ $0[owner] }) { return try known.queue.read(read) }
        guard let process else { return try Self.readCopy(of: name, on: disk, read) }
        let mount = disk.mount()
        let queue = try DatabaseQueue(path: mount.url(name).path)
        connections.withLock { $0[owner] = Connection(mount: mount, queue: queue) }
        process.onDeath { [self] in end(owner) }
        return try queue.read(read)
    }

    /// Reads a file that no process has open without touching it. As the only connection, it would bring into the file
    /// what a crash has left in the log, and make that durable.
    private static func readCopy<Value>(
        of name: String, on disk: SimulatedDisk, _ read: (Database) throws -> Value
    ) throws -> Value {
        let copy = SimulatedDisk(seed: 0)
        copy.restore(disk.copy(name))
        return try withExtendedLifetime(copy) {
            try DatabaseQueue(path: copy.mount().url(name).path).read(read)
        }
    }

    /// Lets go of a file without touching it: a connection that closes last would tidy up what a crash has left.
    private func end(_ owner: String) {
        let connection = connections.withLock { $0.removeValue(forKey: owner) }
        connection?.mount.kill()
    }
}
