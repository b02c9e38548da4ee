// This source file is part of the Optimist open source project, under the MIT licence.

import GRDBSQLite
import OptimistCore

/// A disk in memory for SQLite, which can fail, fill up, and lose what was not synced when the power goes.
///
/// A process gets at it by a mount, which names a directory. SQLite, and so GRDB and `Store`, open files there as they
/// would anywhere:
///
/// ```swift
/// let disk = SimulatedDisk(seed: 7)
/// let mount = disk.mount()
/// let store = try Store(at: mount.url("planner.sqlite"), synced: […]) { … }
/// mount.crash(atChange: 40)  // The process dies at its 40th write, truncation, sync or deletion from now.
/// ```
///
/// Files live as long as the disk. Several mounts see the same files, as several processes do. Safe to use from any thread.
///
/// > Note: The first disk registers an SQLite VFS as the default one. It hands every other path to the system's.
@_spi(Internals) public final class SimulatedDisk: Sendable {
    /// What a handle of SQLite's is, besides its file.
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
        /// How many more changes go well before the process dies at one.
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

    /// - Parameter seed: Decides what a power loss takes, and how far a write gets at which a process dies.
    public init(seed: UInt64) {
        state = Mutex(State(random: SplitMix64(seed: seed)))
        number = SimulatedVFS.nextDiskNumber()
        SimulatedVFS.register(self, number)
    }

    deinit { SimulatedVFS.unregister(number) }

    /// Lets one process at the files. Each launch of a program takes its own.
    public func mount() -> DiskMount {
        let number = withState { state in
            state.mounts.append(MountState())
            return state.mounts.count - 1
        }
        return DiskMount(disk: self, number: number)
    }

    /// The most bytes that all files together may have. Nil: any. A write beyond it fails with `SQLITE_FULL`.
    public var capacityBytes: Int? {
        get { withState { $0.capacity } }
        set { withState { $0.capacity = newValue } }
    }

    /// How many operations changed the disk so far, by whichever process: as long as it stays the same, so do the
    /// files.
    public var changes: Int { withState(\.changes) }

    /// How large all files are together.
    public var usedBytes: Int { withState { $0.usedBytes } }

    /// How often a fault has really met an operation, in all mounts.
    public func met(_ fault: DiskFault) -> Int { withState { $0.faultsMet[fault] ?? 0 } }

    /// How often a process has died at a change that it was about to make, in all mounts.
    public var crashesMet: Int { withState { $0.crashesMet } }

    /// The power fails: every process dies, and the seed decides which unsynced bytes are left.
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

    /// Removes a file and what SQLite keeps beside it, as an app that is deleted.
    public func remove(_ name: String) {
        withState { state in for suffix in ["", "-wal", "-journal"] { state.names[name + suffix] = nil } }
    }

    /// Returns what a file and its companions hold at this moment, as a backup would.
    public func copy(_ name: String) -> [String: [UInt8]] {
        withState { state in
            var copy: [String: [UInt8]] = [:]
            for suffix in ["", "-wal", "-journal"] {
                if let index = state.names[name + suffix] { copy[name + suffix] = state.files[index].bytes }
            }
            return copy
        }
    }

    /// Puts back what ``copy(_:)`` gave, durably. No process may have the file open.
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

    /// Makes an empty file under a name.
    mutating func make(_ name: String) -> Int {
        files.append(DiskFile())
        names[name] = files.count - 1
        return files.count - 1
    }

    /// Ends a process: its handles die and their locks are free.
    ///
    /// - Returns: Whom to tell.
    mutating func die(_ mount: Int) -> [@Sendable () -> Void] {
        guard mounts[mount].isAlive else { return [] }
        mounts[mount].isAlive = false
        for handle in open.keys where open[handle]?.mount == mount { releaseLocks(handle) }
        defer { mounts[mount].deathWatch = [] }
        return mounts[mount].deathWatch
    }

    /// Whether an operation may go on, and whom to tell if the process dies of it.
    enum Admission {
        case go
        case fail(DiskFault)
        /// The process dies before the operation has done more than this part.
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
