// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Synchronization

/// Holds a data directory for one server. Two would not know of each other's sessions and epochs.
///
/// The system lets go of it when the process ends, however it ends.
final class DirectoryLock: Sendable {
    /// Nil once the directory was given back.
    private let descriptor: Mutex<Int32?>

    /// - Throws: ``OptimistError`` with code `dataInUse` when another server has it.
    init(directory: URL) throws {
        let file = directory.appending(path: "optimist.lock").path
        let descriptor = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw OptimistError(.unreadableData, "\(file) cannot be written. Check who owns the directory.")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw OptimistError(
                .dataInUse,
                "Another server is using \(directory.path). Stop that, or choose another directory with --data.")
        }
        self.descriptor = Mutex(descriptor)
    }

    /// Gives the directory back at once. The last reference may live on for a moment, in a task that is ending.
    func release() {
        guard let descriptor = descriptor.withLock({ $0.take() }) else { return }
        // A child process that has not begun its program yet has the descriptor too: closing alone keeps the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    deinit { release() }
}
