// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDBSQLite
import OptimistCore

/// An SQLite VFS that forwards paths with our prefix to simulated disks, and all other paths to the system.
///
/// > Source: SQLite, "The OS Backend (VFS) To SQLite".
enum SimulatedVFS {
    /// The prefix of every simulated file's path: `…/disk/mount/name`.
    static let prefix = "/optimist-simulated-disk/"

    private struct Disks {
        var lastNumber = 0
        var disks: [Int: Weak] = [:]
        /// Threads that retry a lock on a simulated disk without sleeping.
        var impatient: Set<ThreadID> = []
    }

    private struct Weak: Sendable { weak var disk: SimulatedDisk? }

    private static let disks = Mutex(Disks())

    static func nextDiskNumber() -> Int {
        _ = isInstalled
        return disks.withLock { disks in
            disks.lastNumber += 1
            return disks.lastNumber
        }
    }

    static func register(_ disk: SimulatedDisk, _ number: Int) {
        disks.withLock { $0.disks[number] = Weak(disk: disk) }
    }

    static func unregister(_ number: Int) { disks.withLock { _ = $0.disks.removeValue(forKey: number) } }

    /// Nil if the path is not simulated.
    static func resolve(_ path: UnsafePointer<CChar>?) -> (disk: SimulatedDisk?, mount: Int, name: String)? {
        guard let path, strncmp(path, prefix, prefix.utf8.count) == 0 else { return nil }
        let parts = String(cString: path).dropFirst(prefix.count).split(separator: "/", maxSplits: 2)
        guard parts.count == 3, let number = Int(parts[0]), let mount = Int(parts[1]) else { return (nil, 0, "") }
        return (disks.withLock { $0.disks[number]?.disk }, mount, String(parts[2]))
    }

    static func noteBusy(_ code: Int32) -> Int32 {
        if code == SQLITE_BUSY { disks.withLock { _ = $0.impatient.insert(.current) } }
        return code
    }

    private static func isImpatient() -> Bool { disks.withLock { $0.impatient.remove(.current) != nil } }

    private static let isInstalled: Bool = install()

    private static func install() -> Bool {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: system.pointee)
        vfs.pointee.pNext = nil
        vfs.pointee.zName = UnsafePointer(strdup("optimist-simulated"))
        vfs.pointee.szOsFile = max(system.pointee.szOsFile, Int32(MemoryLayout<SimulatedFile>.size))
        vfs.pointee.xOpen = { _, path, file, flags, outFlags in
            guard let target = SimulatedVFS.resolve(path) else {
                return system.pointee.xOpen(system, path, file, flags, outFlags)
            }
            return SimulatedFile.open(target.disk, target.mount, target.name, file, flags, outFlags)
        }
        vfs.pointee.xDelete = { _, path, syncsDirectory in
            guard let target = SimulatedVFS.resolve(path) else {
                return system.pointee.xDelete(system, path, syncsDirectory)
            }
            return target.disk?.delete(target.name, mount: target.mount) ?? SQLITE_IOERR
        }
        vfs.pointee.xAccess = { _, path, flags, result in
            guard let target = SimulatedVFS.resolve(path) else {
                return system.pointee.xAccess(system, path, flags, result)
            }
            result?.pointee = target.disk?.exists(target.name, mount: target.mount) == true ? 1 : 0
            return SQLITE_OK
        }
        vfs.pointee.xFullPathname = { _, path, size, result in
            guard let path, SimulatedVFS.resolve(path) != nil else {
                return system.pointee.xFullPathname(system, path, size, result)
            }
            let length = strlen(path)
            guard let result, length < Int(size) else { return SQLITE_CANTOPEN }
            memcpy(result, path, length + 1)
            return SQLITE_OK
        }
        vfs.pointee.xSleep = { _, microseconds in
            SimulatedVFS.isImpatient()
                ? microseconds : system.pointee.xSleep(system, microseconds)
        }
        return sqlite3_vfs_register(vfs, 1) == SQLITE_OK
    }
}

/// The system's VFS, for all other paths.
///
/// `nonisolated(unsafe)`: immutable, and never freed.
nonisolated(unsafe) private let system: UnsafeMutablePointer<sqlite3_vfs> = {
    guard let vfs = sqlite3_vfs_find(nil) else { preconditionFailure("SQLite has a default file system") }
    return vfs
}()
