// This source file is part of the Optimist open source project, under the MIT licence.

/// How an operation on a simulated disk fails.
public enum DiskFault: Sendable, Hashable, CaseIterable {
    /// The device reports an error: SQLite's `SQLITE_IOERR`.
    case ioError
    /// There is no room: `SQLITE_FULL`. Meets writes only.
    case full
    /// Another process is writing: `SQLITE_BUSY`. Meets the locks of writers only.
    case busy
}

/// What SQLite asks of a disk.
public enum DiskOperation: Sendable, Hashable, CaseIterable {
    case open, read, write, truncate, sync, delete
    /// The lock that a writer takes.
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
