// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The right to sync a file: one engine has it at a time, in whichever process. It ends with the process that has it,
/// however that ends.
///
/// It is a lock on a file beside the database, which stays empty and is never removed: if the file were removed, two
/// processes could lock two files of one name.
///
/// > Source: flock(2).
struct SyncTurn {
    /// Nil where the file system knows no locks: then the engines of two processes may send the same rows, which is
    /// harmless and wasteful.
    private let descriptor: Int32?

    /// Nil while another process has it, or while the lock cannot be asked for, as on a full disk.
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

    /// Lets another one have it.
    func end() { if let descriptor { close(descriptor) } }
}
