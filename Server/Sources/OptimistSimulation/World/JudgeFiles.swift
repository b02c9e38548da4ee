// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import Synchronization

/// Reads database files like another process would. A connection ends with the process that owns the file.
final class JudgeFiles: Sendable {
    private struct Connection {
        let mount: DiskMount
        let queue: DatabaseQueue
    }

    private let connections = Mutex<[String: Connection]>([:])

    /// - Parameters:
    ///   - owner: Identifies the file among all files.
    ///   - process: The process that has the file open. If it is nil, a copy is read.
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

    /// Reads a copy, because the only connection to a file checkpoints the log that a crash left, and makes it durable.
    private static func readCopy<Value>(
        of name: String, on disk: SimulatedDisk, _ read: (Database) throws -> Value
    ) throws -> Value {
        let copy = SimulatedDisk(seed: 0)
        copy.restore(disk.copy(name))
        return try withExtendedLifetime(copy) {
            try DatabaseQueue(path: copy.mount().url(name).path).read(read)
        }
    }

    /// Closes a connection without the cleanup that a file's last connection performs.
    private func end(_ owner: String) {
        let connection = connections.withLock { $0.removeValue(forKey: owner) }
        connection?.mount.kill()
    }
}
