// This source file is part of the Optimist open source project, under the MIT licence.

/// The pending writes of a disk: the latest for each key, in the order of their decisions.
///
/// Reads look here first. Replaced and removed writes are returned, so that the caller can release them without a lock.
@usableFromInline
struct PendingWrites<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Write: Sendable {
        var fetched: Fetched<Value>
        let value: Value
        /// The validity that the request asked the source to confirm, if it did.
        let former: Validity?
        var costBytes = 0
    }

    private struct Entry {
        let number: Int
        /// Nil: remove the disk's value.
        let write: Write?
    }

    enum Finding {
        /// The disk has the latest value.
        case nothing
        case removed
        case value(Value, Validity)
    }

    private let mostValues: Int
    private let mostBytes: Int
    private var entries: [Key: Entry] = [:]
    private var keys: [Int: Key] = [:]
    private var lastNumber = 0
    private var firstNumber = 1
    private var values = 0
    private var bytes = 0
    private var removalsOfAll = 0
    private var isWorking = false

    /// Beyond the limits, the disk is too far behind, so the entry becomes a removal: no value is better than an old
    /// one.
    ///
    /// - Parameters:
    ///   - mostValues: The maximum number of values that wait.
    ///   - mostBytes: The most bytes that waiting values cost together. A single value may exceed it.
    init(mostValues: Int, mostBytes: Int) {
        self.mostValues = mostValues
        self.mostBytes = mostBytes
    }

    func found(_ key: Key) -> Finding {
        guard let entry = entries[key] else { return removalsOfAll > 0 ? .removed : .nothing }
        guard let write = entry.write, write.fetched.isKeptOnDisk else { return .removed }
        return .value(write.value, write.fetched.validity)
    }

    // MARK: - Decisions

    /// Adds a write, or if it is nil, a removal of the disk's value.
    ///
    /// - Returns: The number of the write, and the write that it replaces.
    mutating func add(_ write: Write?, for key: Key) -> (number: Int, replaced: Write?) {
        let former = entries[key]
        var write = write
        if let former, write?.fetched.value == nil { write = write.flatMap { former.write?.confirmed(by: $0) } }
        if let former { leave(former.write) }
        write = write.flatMap { hasRoom(for: $0) ? $0 : nil }
        if let write { (values, bytes) = (values + 1, bytes + write.costBytes) }
        lastNumber += 1
        if let former { keys[former.number] = nil }
        keys[lastNumber] = key
        entries[key] = Entry(number: lastNumber, write: write)
        return (lastNumber, former?.write)
    }

    private func hasRoom(for write: Write) -> Bool {
        values == 0 || values < mostValues && write.costBytes <= mostBytes - bytes
    }

    private mutating func leave(_ write: Write?) {
        if let write { (values, bytes) = (values - 1, bytes - write.costBytes) }
    }

    /// Cancels all writes, and hides the disk's values until ``endRemovingAll()``.
    mutating func beginRemovingAll() -> [Write] {
        defer { (entries, keys, values, bytes, firstNumber) = ([:], [:], 0, 0, lastNumber + 1) }
        removalsOfAll += 1
        return entries.values.compactMap(\.write)
    }

    mutating func endRemovingAll() { removalsOfAll -= 1 }

    // MARK: - Work

    /// Returns whether the caller must start a worker.
    mutating func begin() -> Bool {
        if isWorking || entries.isEmpty { return false }
        isWorking = true
        return true
    }

    /// Nil: all writes are done, and the worker ends.
    mutating func first() -> (number: Int, key: Key, write: Write?)? {
        while firstNumber <= lastNumber {
            if let key = keys[firstNumber] { return (firstNumber, key, entries[key]?.write) }
            firstNumber += 1
        }
        isWorking = false
        return nil
    }

    func isStanding(_ number: Int) -> Bool { keys[number] != nil }

    mutating func end(_ number: Int) -> Write? {
        guard let key = keys.removeValue(forKey: number) else { return nil }
        let write = entries.removeValue(forKey: key)?.write
        leave(write)
        return write
    }
}

extension PendingWrites.Write {
    /// Nil if the source has confirmed another version.
    fileprivate func confirmed(by other: Self) -> Self? {
        guard fetched.validity.isOfSameVersion(as: other.former) else { return nil }
        var confirmed = self
        confirmed.fetched = fetched.confirmed(by: other.fetched)
        return confirmed
    }
}
