// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// One process's view of a simulated disk. Mounts share the files, but each mount has its own handles and faults. Safe
/// to use from any thread.
public struct DiskMount: Sendable {
    let disk: SimulatedDisk
    let number: Int

    /// Returns the URL of a file on this disk.
    ///
    /// - Parameter name: A single path component, such as `planner.sqlite`. It refers to the same file in all mounts.
    @_spi(Internals) public func url(_ name: String) -> URL {
        URL(filePath: "\(SimulatedVFS.prefix)\(disk.number)/\(number)/\(name)", directoryHint: .notDirectory)
    }

    /// False after a kill, a crash or a power loss.
    var isAlive: Bool { disk.withState { $0.mounts[number].isAlive } }

    /// Returns how many times the process has performed an operation.
    public func count(of operation: DiskOperation) -> Int {
        disk.withState { $0.mounts[number].counts[operation] ?? 0 }
    }

    /// The number of operations that changed the disk: writes, truncations, syncs and deletions.
    public var changes: Int {
        disk.withState { state in
            state.mounts[number].counts.reduce(0) { $0 + ($1.key.isChange ? $1.value : 0) }
        }
    }

    /// Makes operations fail.
    ///
    /// - Parameters:
    ///   - fault: The failure.
    ///   - operations: The operations that fail. Default: all operations that this fault applies to.
    ///   - skipping: The number of these operations that succeed first. Default: 0.
    ///   - times: The number of operations that then fail. Default: 1.
    public func fail(_ fault: DiskFault, on operations: Set<DiskOperation>? = nil, skipping: Int = 0, times: Int = 1) {
        let usual: Set<DiskOperation> =
            switch fault {
            case .ioError: [.read, .write, .truncate, .sync]
            case .full: [.write]
            case .busy: [.lock]
            }
        let rule = FaultRule(fault: fault, operations: operations ?? usual, skipping: skipping, times: times)
        disk.withState { $0.mounts[number].faults.append(rule) }
    }

    /// Cancels all pending faults.
    public func heal() { disk.withState { $0.mounts[number].faults = [] } }

    /// Kills the process at its `count`-th change from now, where 1 is the next. The change takes effect in part or not
    /// at all.
    public func crash(atChange count: Int) { disk.withState { $0.mounts[number].fuse = max(count, 1) - 1 } }

    /// Kills the process. Completed writes stay. Later operations on the process's handles fail and change nothing.
    @_spi(Internals) public func kill() {
        let watchers = disk.withState { $0.die(number) }
        for watcher in watchers { watcher() }
    }

    /// Calls a closure when the process dies. If it is dead already, calls the closure immediately.
    @_spi(Internals) public func onDeath(_ action: @escaping @Sendable () -> Void) {
        let isDead = disk.withState { state in
            if state.mounts[number].isAlive { state.mounts[number].deathWatch.append(action) }
            return !state.mounts[number].isAlive
        }
        if isDead { action() }
    }
}
