// This source file is part of the Optimist open source project, under the MIT licence.

/// The writes that a disk still has to do: the latest of each key, in the order of their decisions.
///
/// A read looks here first. Values that are replaced or removed are handed back, so that the caller releases them
/// outside of the lock.
@usableFromInline
struct PendingWrites<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Write: Sendable {
        var fetched: Fetched<Value>
        let value: Value
        /// What the source was asked about, if it has said that nothing has changed.
        let former: Validity?
        /// What waiting for the disk takes of the memory.
        var costBytes = 0
    }

    private struct Entry {
        let number: Int
        /// Nil: remove the value that the disk has.
        let write: Write?
    }

    enum Finding {
        /// What the disk has is the latest.
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

    /// Beyond the limits only the key waits: the disk is behind, and then it has no value under the key rather than an
    /// old one.
    ///
    /// - Parameters:
    ///   - mostValues: How many values wait at most.
    ///   - mostBytes: How many bytes they cost together at most, unless it is one value.
    init(mostValues: Int, mostBytes: Int) {
        self.mostValues = mostValues
        self.mostBytes = mostBytes
    }

    func found(_ key: Key) -> Finding {
        guard let entry = entries[key] else { return removalsOfAll > 0 ? .removed : .nothing }
        guard let write = entry.write, write.fetched.isKeptOnDisk else { return .removed }
        return .value(write.value, write.fetched.validity)
    }

    // MARK: - Deciding

    /// Writes a value, or removes the one that the disk has under the key if it is nil.
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

    /// Removes all values that the disk has, and forgets all writes.
    mutating func beginRemovingAll() -> [Write] {
        defer { (entries, keys, values, bytes, firstNumber) = ([:], [:], 0, 0, lastNumber + 1) }
        removalsOfAll += 1
        return entries.values.compactMap(\.write)
    }

    mutating func endRemovingAll() { removalsOfAll -= 1 }

    // MARK: - Working

    /// Returns whether the caller has to begin to work.
    mutating func begin() -> Bool {
        if isWorking || entries.isEmpty { return false }
        isWorking = true
        return true
    }

    /// The first write to do. Nil: there is none, and the worker is done.
    mutating func first() -> (number: Int, key: Key, write: Write?)? {
        while firstNumber <= lastNumber {
            if let key = keys[firstNumber] { return (firstNumber, key, entries[key]?.write) }
            firstNumber += 1
        }
        isWorking = false
        return nil
    }

    /// Whether something is still to be done, and nothing else instead.
    func isStanding(_ number: Int) -> Bool { keys[number] != nil }

    mutating func end(_ number: Int) -> Write? {
        guard let key = keys.removeValue(forKey: number) else { return nil }
        let write = entries.removeValue(forKey: key)?.write
        leave(write)
        return write
    }
}

extension PendingWrites.Write {
    /// The same, confirmed by a source. Nil: it has confirmed something else.
    fileprivate func confirmed(by other: Self) -> Self? {
        guard fetched.validity.isOfSameVersion(as: other.former) else { return nil }
        var confirmed = self
        confirmed.fetched = fetched.confirmed(by: other.fetched)
        return confirmed
    }
}
