// This source file is part of the Optimist open source project, under the MIT licence.

import GRDBSQLite

extension SimulatedDisk {
    func lock(_ handle: Int, level: Int32) -> Int32 {
        let code = level >= SQLITE_LOCK_RESERVED ? admitLock(handle) : SQLITE_OK
        return code == SQLITE_OK ? withState { $0.lock(handle, level) } : code
    }

    func unlock(_ handle: Int, level: Int32) {
        withState { state in if let open = state.open[handle], open.level > level { state.open[handle]?.level = level }
        }
    }

    /// Whether a connection holds a reserved or higher lock.
    func isReserved(_ handle: Int) -> Bool {
        withState { state in
            guard let file = state.open[handle]?.file else { return false }
            return state.open.values.contains { $0.file == file && $0.level >= SQLITE_LOCK_RESERVED }
        }
    }

    func mapRegion(_ handle: Int, index: Int, size: Int, extending: Bool) -> (code: Int32, region: SendablePointer?) {
        withState { state in
            guard let open = state.open[handle], state.mounts[open.mount].isAlive else { return (SQLITE_IOERR, nil) }
            let memory = state.sharedMemory(handle, open)
            return (
                SQLITE_OK,
                memory.region(index, size: size, extending: extending).map { SendablePointer(address: $0) }
            )
        }
    }

    func unmap(_ handle: Int) {
        withState { state in
            state.releaseSharedLocks(handle)
            state.open[handle]?.sharedMemory = nil
        }
    }

    /// The write lock's index among SQLite's eight locks.
    private static let writeLock = 0

    func lockShared(_ handle: Int, first: Int, count: Int, flags: Int32) -> Int32 {
        let isUnlock = flags & SQLITE_SHM_UNLOCK != 0
        if !isUnlock, first == Self.writeLock, flags & SQLITE_SHM_EXCLUSIVE != 0 {
            let code = admitLock(handle)
            if code != SQLITE_OK { return code }
        }
        return withState { state in
            let slots = first..<(first + count)
            if isUnlock { return state.unlockShared(handle, slots) }
            return state.lockShared(handle, slots, isExclusive: flags & SQLITE_SHM_EXCLUSIVE != 0)
        }
    }
}

/// `@unchecked`: only SQLite accesses the memory, under its own locks.
struct SendablePointer: @unchecked Sendable {
    let address: UnsafeMutableRawPointer
}

extension SimulatedDisk.State {
    mutating func lock(_ handle: Int, _ level: Int32) -> Int32 {
        guard let own = open[handle], mounts[own.mount].isAlive else { return SQLITE_IOERR_LOCK }
        if own.level >= level { return SQLITE_OK }
        let others = open.filter { $0.key != handle && $0.value.file == own.file && mounts[$0.value.mount].isAlive }
        let highest = others.values.map(\.level).max() ?? SQLITE_LOCK_NONE
        switch level {
        case SQLITE_LOCK_SHARED where highest >= SQLITE_LOCK_PENDING: return SQLITE_BUSY
        case SQLITE_LOCK_RESERVED where highest >= SQLITE_LOCK_RESERVED: return SQLITE_BUSY
        case SQLITE_LOCK_EXCLUSIVE where highest >= SQLITE_LOCK_RESERVED: return SQLITE_BUSY
        case SQLITE_LOCK_EXCLUSIVE where highest == SQLITE_LOCK_SHARED:
            open[handle]?.level = SQLITE_LOCK_PENDING
            return SQLITE_BUSY
        default:
            open[handle]?.level = level
            return SQLITE_OK
        }
    }

    /// The first live connection starts with empty memory.
    mutating func sharedMemory(_ handle: Int, _ own: SimulatedDisk.OpenFile) -> SharedMemory {
        if let memory = own.sharedMemory { return memory }
        let isShared = open.values.contains { other in
            other.file == own.file && other.sharedMemory != nil && mounts[other.mount].isAlive
        }
        let memory = (isShared ? files[own.file].sharedMemory : nil) ?? SharedMemory()
        files[own.file].sharedMemory = memory
        open[handle]?.sharedMemory = memory
        return memory
    }

    mutating func lockShared(_ handle: Int, _ slots: Range<Int>, isExclusive: Bool) -> Int32 {
        guard let own = open[handle], let memory = own.sharedMemory, mounts[own.mount].isAlive else {
            return SQLITE_IOERR_LOCK
        }
        for slot in slots {
            let isMine = isExclusive ? own.exclusiveLocks.contains(slot) : own.sharedLocks.contains(slot)
            if isMine { continue }
            let held = memory.locks[slot] - (own.sharedLocks.contains(slot) ? 1 : 0)
            if isExclusive ? held != 0 : held < 0 { return SQLITE_BUSY }
        }
        for slot in slots {
            if isExclusive {
                memory.locks[slot] = -1
                open[handle]?.exclusiveLocks.insert(slot)
            } else if open[handle]?.sharedLocks.insert(slot).inserted == true {
                memory.locks[slot] += 1
            }
        }
        return SQLITE_OK
    }

    mutating func unlockShared(_ handle: Int, _ slots: Range<Int>) -> Int32 {
        guard let memory = open[handle]?.sharedMemory else { return SQLITE_OK }
        for slot in slots {
            if open[handle]?.exclusiveLocks.remove(slot) != nil { memory.locks[slot] = 0 }
            if open[handle]?.sharedLocks.remove(slot) != nil { memory.locks[slot] -= 1 }
        }
        return SQLITE_OK
    }

    mutating func releaseSharedLocks(_ handle: Int) { _ = unlockShared(handle, 0..<8) }

    mutating func releaseLocks(_ handle: Int) {
        releaseSharedLocks(handle)
        open[handle]?.level = SQLITE_LOCK_NONE
    }
}
