// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Holds a data directory for one server. Two would not know of each other's sessions and epochs.
///
/// The system lets go of it when the process ends, however it ends.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``OptimistError`` with code `dataInUse` when another server has it.
    init(directory: URL) throws {
        let file = directory.appending(path: "optimist.lock").path
        descriptor = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw OptimistError(.unreadableData, "\(file) cannot be written. Check who owns the directory.")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw OptimistError(
                .dataInUse,
                "Another server is using \(directory.path). Stop that, or choose another directory with --data.")
        }
    }

    deinit { close(descriptor) }
}
