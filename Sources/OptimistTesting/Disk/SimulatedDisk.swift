// This source file is part of the Optimist open source project, under the MIT licence.

import GRDBSQLite
import OptimistCore

/// An in-memory disk for SQLite that can fail, fill up, and lose unsynced data in a power loss.
///
/// A process accesses it through a mount, where SQLite, and thus GRDB and `Store`, can open files as anywhere else:
///
/// ```swift
/// let disk = SimulatedDisk(seed: 7)
/// let mount = disk.mount()
/// let store = try Store(at: mount.url("planner.sqlite"), synced: […]) { … }
/// mount.crash(atChange: 40)  // The process dies at its 40th write, truncation, sync or deletion from now.
/// ```
///
/// Several mounts share the files, like several processes. Safe to use from any thread.
///
/// > Note: The first disk registers an SQLite VFS as the default. That VFS forwards paths outside simulated disks to
/// the system's VFS.
@_spi(Internals) public final class SimulatedDisk: Sendable {
    struct OpenFile {
        let file: Int
        let mount: Int
        let name: String
        let deletesOnClose: Bool
        var level = SQLITE_LOCK_NONE
        var sharedMemory: SharedMemory?
        var sharedLocks: Set<Int> = []
        var exclusiveLocks: Set<Int> = []
    }

    struct MountState {
        var isAlive = true
        var counts: [DiskOperation: Int] = [:]
        /// How many changes still succeed before the process dies.
        var fuse: Int?
        var faults: [FaultRule] = []
        var deathWatch: [@Sendable () -> Void] = []
    }

    struct State {
        var random: SplitMix64
        var names: [String: Int] = [:]
        var files: [DiskFile] = []
        var mounts: [MountState] = []
        var open: [Int: OpenFile] = [:]
        var lastHandle = 0
        var capacity: Int?
        var faultsMet: [DiskFault: Int] = [:]
        var crashesMet = 0
        var changes = 0
    }

    let number: Int
    private let state: Mutex<State>

    /// - Parameter seed: Determines the data lost in a power loss, and the effect of a write when its process dies.
    public init(seed: UInt64) {
        state = Mutex(State(random: SplitMix64(seed: seed)))
        number = SimulatedVFS.nextDiskNumber()
        SimulatedVFS.register(self, number)
    }

    deinit { SimulatedVFS.unregister(number) }

    /// Mounts the disk for one process. Each launch of a program needs its own mount.
    public func mount() -> DiskMount {
        let number = withState { state in
            state.mounts.append(MountState())
            return state.mounts.count - 1
        }
        return DiskMount(disk: self, number: number)
    }

    /// The maximum total size of all files. Nil, the default, is unlimited. A write beyond it fails with `SQLITE_FULL`.
    public var capacityBytes: Int? {
        get { withState { $0.capacity } }
        set { withState { $0.capacity = newValue } }
    }

    /// The number of operations that changed the disk, in all mounts. While it stays the same, the files are unchanged.
    public var changes: Int { withState(\.changes) }

    /// The total size of all files.
    public var usedBytes: Int { withState { $0.usedBytes } }

    /// Returns how many times a fault occurred, in all mounts.
    public func met(_ fault: DiskFault) -> Int { withState { $0.faultsMet[fault] ?? 0 } }

    /// The number of times a process died at a change, in all mounts.
    public var crashesMet: Int { withState { $0.crashesMet } }

    /// Simulates a power loss: every process dies, and the seed determines which unsynced bytes survive.
    public func losePower() {
        let watchers = withState { state in
            let watchers = state.mounts.indices.flatMap { state.die($0) }
            state.changes += 1
            for (name, index) in state.names.sorted(by: { $0.key < $1.key })
            where !state.files[index].losePower(&state.random) {
                state.names[name] = nil
            }
            return watchers
        }
        for watcher in watchers { watcher() }
    }

    /// Removes a file with its log and journal, as when an app is deleted.
    public func remove(_ name: String) {
        withState { state in for suffix in ["", "-wal", "-journal"] { state.names[name + suffix] = nil } }
    }

    /// Returns the current contents of a file, its log and its journal, like a backup.
    public func copy(_ name: String) -> [String: [UInt8]] {
        withState { state in
            var copy: [String: [UInt8]] = [:]
            for suffix in ["", "-wal", "-journal"] {
                if let index = state.names[name + suffix] { copy[name + suffix] = state.files[index].bytes }
            }
            return copy
        }
    }

    /// Restores the files of ``copy(_:)``, durably. No process may have them open.
    public func restore(_ copy: [String: [UInt8]]) {
        withState { state in
            for (name, bytes) in copy.sorted(by: { $0.key < $1.key }) {
                let index = state.make(name)
                bytes.withUnsafeBytes { state.files[index].write($0, at: 0) }
                state.files[index].sync()
            }
            state.changes += 1
        }
    }

    func withState<Result: Sendable>(_ body: (inout State) -> sending Result) -> Result {
        state.withLock { body(&$0) }
    }
}

extension SimulatedDisk.State {
    var usedBytes: Int { names.values.reduce(0) { $0 + files[$1].bytes.count } }

    mutating func make(_ name: String) -> Int {
        files.append(DiskFile())
        names[name] = files.count - 1
        return files.count - 1
    }

    /// - Returns: The closures to call.
    mutating func die(_ mount: Int) -> [@Sendable () -> Void] {
        guard mounts[mount].isAlive else { return [] }
        mounts[mount].isAlive = false
        for handle in open.keys where open[handle]?.mount == mount { releaseLocks(handle) }
        defer { mounts[mount].deathWatch = [] }
        return mounts[mount].deathWatch
    }

    /// Whether an operation may proceed.
    enum Admission {
        case go
        case fail(DiskFault)
        /// The process dies after this fraction of the operation.
        case dies([@Sendable () -> Void], part: Double)
        case isDead
    }

    mutating func admit(_ operation: DiskOperation, _ mount: Int) -> Admission {
        guard mounts[mount].isAlive else { return .isDead }
        mounts[mount].counts[operation, default: 0] += 1
        if operation.isChange { changes += 1 }
        if operation.isChange, let fuse = mounts[mount].fuse {
            if fuse <= 0 {
                crashesMet += 1
                let part = random.next() % 2 == 0 ? 0 : Double(random.next() >> 11) * 0x1p-53
                return .dies(die(mount), part: part)
            }
            mounts[mount].fuse = fuse - 1
        }
        if let fault = mounts[mount].faults.take(operation) {
            faultsMet[fault, default: 0] += 1
            return .fail(fault)
        }
        return .go
    }
}
