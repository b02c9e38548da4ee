// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The right to sync a file: one engine has it at a time, in whichever process. It ends with the process that has it,
/// however that ends.
///
/// It is a lock on a file beside the database, which stays empty and is never removed: whoever removed it would let two
/// processes lock two files of one name.
///
/// > Source: flock(2).
struct SyncTurn {
    /// Lets another one have it.
    let end: @Sendable () -> Void

    /// Nil while somebody else has it, or while it cannot be asked for, as on a full disk.
    init?(for database: URL, in surroundings: Surroundings) {
        let file = URL(filePath: database.path + "-sync")
        guard let end = surroundings.fileLock.map({ $0(file) }) ?? Self.lock(file) else { return nil }
        self.end = end
    }

    /// Where the file system knows no locks there is nothing to end: then the engines of two processes may send the same
    /// rows, which is harmless and wasteful.
    private static func lock(_ file: URL) -> (@Sendable () -> Void)? {
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case ENOTSUP, EOPNOTSUPP, ENOSYS, ENOLCK:
                close(descriptor)
                return {}
            default:
                close(descriptor)
                return nil
            }
        }
        return { _ = close(descriptor) }
    }
}
