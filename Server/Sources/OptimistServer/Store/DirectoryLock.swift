// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Synchronization

/// Locks a data directory for one server. Two servers would not see each other's sessions and epochs. The system
/// releases the lock when the process ends.
final class DirectoryLock: Sendable {
    /// Nil after the release.
    private let descriptor: Mutex<Int32?>

    /// - Throws: ``OptimistError`` with code `dataInUse` if another server holds the lock.
    init(directory: URL) throws {
        let file = directory.appending(path: "optimist.lock").path
        let descriptor = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw OptimistError(.unreadableData, "\(file) cannot be written. Check the owner of the directory.")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw OptimistError(
                .dataInUse,
                "Another server is using \(directory.path). Stop that server, or choose another directory with --data.")
        }
        self.descriptor = Mutex(descriptor)
    }

    /// Releases the lock now. A task that is ending may still hold a reference and delay `deinit`.
    func release() {
        guard let descriptor = descriptor.withLock({ $0.take() }) else { return }
        // A child process between fork and exec also has the descriptor, so closing it would not release the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    deinit { release() }
}
