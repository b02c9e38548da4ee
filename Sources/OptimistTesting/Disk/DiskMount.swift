// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// A simulated disk as one process sees it: all mounts share the files, and each has its own handles and faults. Use it
/// from any thread.
public struct DiskMount: Sendable {
    /// The disk.
    let disk: SimulatedDisk
    let number: Int

    /// The address of a file on this disk, for this process to open.
    ///
    /// - Parameter name: One component, such as `planner.sqlite`. Another mount's address of that name is the same
    ///   file.
    @_spi(Internals) public func url(_ name: String) -> URL {
        URL(filePath: "\(SimulatedVFS.prefix)\(disk.number)/\(number)/\(name)", directoryHint: .notDirectory)
    }

    /// Whether the process lives: it was not killed, and its disk lost no power.
    var isAlive: Bool { disk.withState { $0.mounts[number].isAlive } }

    /// How often the process asked for this so far.
    public func count(of operation: DiskOperation) -> Int {
        disk.withState { $0.mounts[number].counts[operation] ?? 0 }
    }

    /// How many operations so far changed what is on the disk: writes, truncations, syncs and deletions.
    public var changes: Int {
        disk.withState { state in
            state.mounts[number].counts.reduce(0) { $0 + ($1.key.isChange ? $1.value : 0) }
        }
    }

    /// Lets operations fail.
    ///
    /// - Parameters:
    ///   - fault: How they fail.
    ///   - operations: Which operations. Default: those that such a fault can meet.
    ///   - skipping: How many of them still succeed first. Default: 0.
    ///   - times: How many fail after that. Default: 1.
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

    /// Withdraws every fault that has not come yet.
    public func heal() { disk.withState { $0.mounts[number].faults = [] } }

    /// Lets the process die at its `count`-th change from now, which begins at 1. The change is made in part or not at all.
    public func crash(atChange count: Int) { disk.withState { $0.mounts[number].fuse = max(count, 1) - 1 } }

    /// Ends the process: its handles fail from now on and change nothing; what it has written stays.
    @_spi(Internals) public func kill() {
        let watchers = disk.withState { $0.die(number) }
        for watcher in watchers { watcher() }
    }

    /// Does something as soon as the process dies, by its own crash or by a power loss.
    @_spi(Internals) public func onDeath(_ action: @escaping @Sendable () -> Void) {
        let isDead = disk.withState { state in
            if state.mounts[number].isAlive { state.mounts[number].deathWatch.append(action) }
            return !state.mounts[number].isAlive
        }
        if isDead { action() }
    }
}
