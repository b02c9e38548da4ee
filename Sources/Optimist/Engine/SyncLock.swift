// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The right to sync a file. One engine at a time holds this right, across all processes. The right ends with the
/// engine's process.
///
/// The right is a lock on an empty file next to the database. The file is never removed, because two processes could
/// then lock two different files of the same name.
///
/// > Source: flock(2).
struct SyncLock {
    /// Nil if the file system has no locks. The engines of two processes may then send the same rows, which is harmless
    /// but wasteful.
    private let descriptor: Int32?

    /// Nil while another process holds the lock, or if the lock file cannot be opened or locked, for example on a full
    /// disk.
    init?(for database: URL) {
        let descriptor = open(database.path + "-sync", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case ENOTSUP, EOPNOTSUPP, ENOSYS, ENOLCK:
                close(descriptor)
                self.descriptor = nil
                return
            default:
                close(descriptor)
                return nil
            }
        }
        self.descriptor = descriptor
    }

    func end() { if let descriptor { close(descriptor) } }
}
