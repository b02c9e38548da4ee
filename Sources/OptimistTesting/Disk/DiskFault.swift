// This source file is part of the Optimist open source project, under the MIT licence.

/// A failure of an operation on a simulated disk.
public enum DiskFault: Sendable, Hashable, CaseIterable {
    /// An I/O error: `SQLITE_IOERR`.
    case ioError
    /// A full disk: `SQLITE_FULL`. Only writes fail this way.
    case full
    /// Another process is writing: `SQLITE_BUSY`. Only write locks fail this way.
    case busy
}

/// An operation that SQLite performs on a disk.
public enum DiskOperation: Sendable, Hashable, CaseIterable {
    /// Opening or creating a file.
    case open
    /// Reading bytes.
    case read
    /// Writing bytes.
    case write
    /// Truncating a file.
    case truncate
    /// Making writes durable.
    case sync
    /// Deleting a file.
    case delete
    /// Acquiring a write lock.
    case lock

    /// Whether the operation changes the disk. ``DiskMount/crash(atChange:)`` counts these.
    var isChange: Bool {
        switch self {
        case .write, .truncate, .sync, .delete: true
        case .open, .read, .lock: false
        }
    }
}

/// A fault for future operations.
struct FaultRule {
    var fault: DiskFault
    var operations: Set<DiskOperation>
    /// How many matching operations still succeed.
    var skipping: Int
    /// How many matching operations fail after that.
    var times: Int
}

extension [FaultRule] {
    /// Removes and returns the operation's fault, if any.
    mutating func take(_ operation: DiskOperation) -> DiskFault? {
        guard !isEmpty else { return nil }
        for index in indices where self[index].operations.contains(operation) {
            if self[index].skipping > 0 {
                self[index].skipping -= 1
                continue
            }
            guard self[index].times > 0 else { continue }
            self[index].times -= 1
            defer { removeAll { $0.times == 0 } }
            return self[index].fault
        }
        return nil
    }
}
