// This source file is part of the Optimist open source project, under the MIT licence.

/// How an operation on a simulated disk fails.
public enum DiskFault: Sendable, Hashable, CaseIterable {
    /// The device reports an error: SQLite's `SQLITE_IOERR`.
    case ioError
    /// There is no room: `SQLITE_FULL`. Only writes meet it.
    case full
    /// Another process is writing: `SQLITE_BUSY`. Only the locks of writers meet it.
    case busy
}

/// An operation that SQLite asks a disk for.
public enum DiskOperation: Sendable, Hashable, CaseIterable {
    /// Opening a file, which makes it if it is missing.
    case open
    /// Reading bytes.
    case read
    /// Writing bytes.
    case write
    /// Cutting a file.
    case truncate
    /// Making what was written durable.
    case sync
    /// Deleting a file.
    case delete
    /// Taking the lock of a writer.
    case lock

    /// Whether it changes what is on the disk. A crash is counted in these.
    var isChange: Bool {
        switch self {
        case .write, .truncate, .sync, .delete: true
        case .open, .read, .lock: false
        }
    }
}

/// Faults that wait for their operation.
struct FaultRule {
    var fault: DiskFault
    var operations: Set<DiskOperation>
    /// How many such operations still go well.
    var skipping: Int
    /// How many fail after that.
    var times: Int
}

extension [FaultRule] {
    /// Takes the fault that meets this operation, if any.
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
