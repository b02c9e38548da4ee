// This source file is part of the Optimist open source project, under the MIT licence.

import GRDBSQLite

/// The file operations of SQLite's VFS.
extension SimulatedDisk {
    /// - Parameter work: Receives the fraction to perform: 1, or less if the process dies.
    private func perform(
        _ operation: DiskOperation, _ handle: Int, _ work: (inout State, OpenFile, Double) -> Int32
    ) -> Int32 {
        let (code, watchers): (Int32, [@Sendable () -> Void]) = withState { state in
            guard let open = state.open[handle] else { return (SQLITE_IOERR, []) }
            switch state.admit(operation, open.mount) {
            case .go: return (work(&state, open, 1), [])
            case .fail(let fault): return (operation.code(of: fault), [])
            case .dies(let watchers, let part):
                if part > 0 { _ = work(&state, open, part) }
                return (operation.code(of: .ioError), watchers)
            case .isDead: return (operation.code(of: .ioError), [])
            }
        }
        for watcher in watchers { watcher() }
        return code
    }

    /// - Returns: Nil if the file does not exist or the process is dead.
    func open(_ name: String, mount: Int, flags: Int32) -> Int? {
        withState { state in
            guard state.mounts.indices.contains(mount), case .go = state.admit(.open, mount) else { return nil }
            let known = state.names[name]
            guard let file = known ?? (flags & SQLITE_OPEN_CREATE != 0 ? state.make(name) : nil) else { return nil }
            state.lastHandle += 1
            state.open[state.lastHandle] = OpenFile(
                file: file, mount: mount, name: name, deletesOnClose: flags & SQLITE_OPEN_DELETEONCLOSE != 0)
            return state.lastHandle
        }
    }

    func close(_ handle: Int) {
        withState { state in
            state.releaseLocks(handle)
            guard let open = state.open.removeValue(forKey: handle) else { return }
            if open.deletesOnClose, state.mounts[open.mount].isAlive, state.names[open.name] == open.file {
                state.names[open.name] = nil
            }
        }
    }

    func read(_ handle: Int, into target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        perform(.read, handle) { state, open, part in
            guard part == 1 else { return SQLITE_IOERR_READ }
            return state.files[open.file].bytes.withUnsafeBytes { bytes in
                let end = min(offset + target.count, bytes.count)
                let count = max(end - offset, 0)
                if count > 0 { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<end])) }
                if count == target.count { return SQLITE_OK }
                UnsafeMutableRawBufferPointer(rebasing: target[count...]).initializeMemory(as: UInt8.self, repeating: 0)
                return SQLITE_IOERR_SHORT_READ
            }
        }
    }

    func write(_ handle: Int, _ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        perform(.write, handle) { state, open, part in
            let count = Int(Double(bytes.count) * part)
            let growth = offset + count - state.files[open.file].bytes.count
            if let capacity = state.capacity, growth > 0, state.usedBytes + growth > capacity { return SQLITE_FULL }
            state.files[open.file].write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
            return SQLITE_OK
        }
    }

    func truncate(_ handle: Int, to count: Int) -> Int32 {
        perform(.truncate, handle) { state, open, _ in
            state.files[open.file].truncate(to: count)
            return SQLITE_OK
        }
    }

    /// If the process dies at a sync, the sync has no effect.
    func sync(_ handle: Int) -> Int32 {
        perform(.sync, handle) { state, open, part in
            if part == 1 { state.files[open.file].sync() }
            return SQLITE_OK
        }
    }

    func size(_ handle: Int) -> Int? {
        withState { state in
            guard let open = state.open[handle], state.mounts[open.mount].isAlive else { return nil }
            return state.files[open.file].bytes.count
        }
    }

    func delete(_ name: String, mount: Int) -> Int32 {
        let (code, watchers): (Int32, [@Sendable () -> Void]) = withState { state in
            guard state.mounts.indices.contains(mount) else { return (SQLITE_IOERR_DELETE_CODE, []) }
            switch state.admit(.delete, mount) {
            case .go:
                guard state.names.removeValue(forKey: name) != nil else { return (SQLITE_IOERR_DELETE_NOENT_CODE, []) }
                return (SQLITE_OK, [])
            case .dies(let watchers, _): return (SQLITE_IOERR_DELETE_CODE, watchers)
            case .fail, .isDead: return (SQLITE_IOERR_DELETE_CODE, [])
            }
        }
        for watcher in watchers { watcher() }
        return code
    }

    /// Ignores empty files, like SQLite's own check.
    func exists(_ name: String, mount: Int) -> Bool {
        withState { state in
            guard state.mounts.indices.contains(mount), state.mounts[mount].isAlive else { return false }
            return state.names[name].map { !state.files[$0].bytes.isEmpty } ?? false
        }
    }

    /// Checks a write lock for faults.
    func admitLock(_ handle: Int) -> Int32 { perform(.lock, handle) { _, _, _ in SQLITE_OK } }
}

/// The `SQLITE_IOERR_…` macros use arithmetic, which Swift does not import.
let SQLITE_IOERR_READ = SQLITE_IOERR | (1 << 8)
let SQLITE_IOERR_SHORT_READ = SQLITE_IOERR | (2 << 8)
let SQLITE_IOERR_WRITE = SQLITE_IOERR | (3 << 8)
let SQLITE_IOERR_FSYNC = SQLITE_IOERR | (4 << 8)
let SQLITE_IOERR_TRUNCATE = SQLITE_IOERR | (6 << 8)
let SQLITE_IOERR_DELETE_CODE = SQLITE_IOERR | (10 << 8)
let SQLITE_IOERR_LOCK = SQLITE_IOERR | (15 << 8)
let SQLITE_IOERR_DELETE_NOENT_CODE = SQLITE_IOERR | (23 << 8)

extension DiskOperation {
    fileprivate func code(of fault: DiskFault) -> Int32 {
        switch (fault, self) {
        case (.full, _): SQLITE_FULL
        case (.busy, _): SQLITE_BUSY
        case (.ioError, .read): SQLITE_IOERR_READ
        case (.ioError, .write): SQLITE_IOERR_WRITE
        case (.ioError, .sync): SQLITE_IOERR_FSYNC
        case (.ioError, .truncate): SQLITE_IOERR_TRUNCATE
        case (.ioError, .delete): SQLITE_IOERR_DELETE_CODE
        case (.ioError, .lock): SQLITE_IOERR_LOCK
        case (.ioError, .open): SQLITE_CANTOPEN
        }
    }
}
