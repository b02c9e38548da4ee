// This source file is part of the Optimist open source project, under the MIT licence.

import GRDBSQLite

/// An open file. SQLite allocates this structure, and requires its own structure as the first member.
struct SimulatedFile {
    private var base: sqlite3_file
    private var disk: Unmanaged<SimulatedDisk>
    private var handle: Int

    static func open(
        _ disk: SimulatedDisk?, _ mount: Int, _ name: String, _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file else { return SQLITE_CANTOPEN }
        // SQLite closes only files with methods.
        file.pointee.pMethods = nil
        guard let disk, let handle = disk.open(name, mount: mount, flags: flags) else { return SQLITE_CANTOPEN }
        UnsafeMutableRawPointer(file).initializeMemory(
            as: SimulatedFile.self,
            to: SimulatedFile(
                base: sqlite3_file(pMethods: methods), disk: Unmanaged.passRetained(disk), handle: handle))
        outFlags?.pointee = flags
        return SQLITE_OK
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> (disk: SimulatedDisk, handle: Int) {
        guard let file else { preconditionFailure("SQLite passes a file to every call") }
        return UnsafeMutableRawPointer(file).withMemoryRebound(to: SimulatedFile.self, capacity: 1) {
            ($0.pointee.disk.takeUnretainedValue(), $0.pointee.handle)
        }
    }

    /// `nonisolated(unsafe)`: immutable, and never freed.
    nonisolated(unsafe) private static let methods: UnsafePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 2
        addContentMethods(&methods.pointee)
        addLockMethods(&methods.pointee)
        addSharedMemoryMethods(&methods.pointee)
        return UnsafePointer(methods)
    }()

    private static func addContentMethods(_ methods: inout sqlite3_io_methods) {
        methods.xClose = { file in
            let (disk, handle) = SimulatedFile.of(file)
            disk.close(handle)
            Unmanaged.passUnretained(disk).release()
            return SQLITE_OK
        }
        methods.xRead = { file, target, count, offset in
            let (disk, handle) = SimulatedFile.of(file)
            return disk.read(
                handle, into: UnsafeMutableRawBufferPointer(start: target, count: Int(count)), at: Int(offset))
        }
        methods.xWrite = { file, bytes, count, offset in
            let (disk, handle) = SimulatedFile.of(file)
            return disk.write(handle, UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
        }
        methods.xTruncate = { file, count in
            let (disk, handle) = SimulatedFile.of(file)
            return disk.truncate(handle, to: Int(count))
        }
        methods.xSync = { file, _ in
            let (disk, handle) = SimulatedFile.of(file)
            return disk.sync(handle)
        }
        methods.xFileSize = { file, size in
            let (disk, handle) = SimulatedFile.of(file)
            guard let count = disk.size(handle) else { return SQLITE_IOERR }
            size?.pointee = sqlite3_int64(count)
            return SQLITE_OK
        }
    }

    private static func addLockMethods(_ methods: inout sqlite3_io_methods) {
        methods.xLock = { file, level in
            let (disk, handle) = SimulatedFile.of(file)
            return SimulatedVFS.noteBusy(disk.lock(handle, level: level))
        }
        methods.xUnlock = { file, level in
            let (disk, handle) = SimulatedFile.of(file)
            disk.unlock(handle, level: level)
            return SQLITE_OK
        }
        methods.xCheckReservedLock = { file, result in
            let (disk, handle) = SimulatedFile.of(file)
            result?.pointee = disk.isReserved(handle) ? 1 : 0
            return SQLITE_OK
        }
        methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        methods.xSectorSize = { _ in 4096 }
        // Like all modern systems, which do not damage adjacent bytes when they write.
        methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
    }

    private static func addSharedMemoryMethods(_ methods: inout sqlite3_io_methods) {
        methods.xShmMap = { file, index, size, extends, result in
            let (disk, handle) = SimulatedFile.of(file)
            let (code, region) = disk.mapRegion(handle, index: Int(index), size: Int(size), extending: extends != 0)
            result?.pointee = region.map { UnsafeMutableRawPointer($0.address) }
            return code
        }
        methods.xShmLock = { file, first, count, flags in
            let (disk, handle) = SimulatedFile.of(file)
            return SimulatedVFS.noteBusy(disk.lockShared(handle, first: Int(first), count: Int(count), flags: flags))
        }
        // Everything runs in one process, where each of our locks is a memory barrier.
        methods.xShmBarrier = { _ in }
        methods.xShmUnmap = { file, _ in
            let (disk, handle) = SimulatedFile.of(file)
            disk.unmap(handle)
            return SQLITE_OK
        }
    }
}
