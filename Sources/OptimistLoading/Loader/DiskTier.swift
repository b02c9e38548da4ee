// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
public import Foundation
import OptimistCore

/// Keeps a loader's values between launches.
///
/// Values that wait for the disk are in memory: up to 256 values and 16 MB, or one that is larger. If the disk is
/// further behind, it does not keep the values that come then.
public final class DiskTier<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let cache: DiskCache
    private let name: @Sendable (Key) -> String
    private let decode: @Sendable ([UInt8]) throws -> Value
    private let encode: (@Sendable (Value) throws -> [UInt8]?)?
    /// Whether the bytes that a fetch gave are those to keep.
    private let keepsFetchedBytes: Bool
    private let now: @Sendable () -> Date
    private let reading: DispatchQueue
    private let writing: DispatchQueue
    private let pending = Mutex(PendingWrites<Key, Value>(mostValues: 256, mostBytes: 16 << 20))
    /// Held while the disk is written to or removed from, so that neither happens in the middle of the other.
    private let atWork = Mutex(())

    /// - Parameters:
    ///   - cache: Where the bytes are. Several tiers may share one if their names differ, and if what they keep goes
    ///     together: ``Loader/removeAll()`` of any of their loaders empties the cache.
    ///   - name: Names a key for good: another launch of the app must find it under the same. Different keys have
    ///     different names.
    ///   - decode: Makes a value of its bytes. If it throws, they are removed, and the value is fetched.
    ///   - encode: Makes the bytes of a value for which the fetch gave none. Nil, the default: such a value is not kept
    ///     on the disk. If it returns nil or throws, neither.
    ///   - now: The time of day.
    public convenience init(
        _ cache: DiskCache, name: @escaping @Sendable (Key) -> String,
        decode: @escaping @Sendable ([UInt8]) throws -> Value,
        encode: (@Sendable (Value) throws -> [UInt8]?)? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(cache, name: name, decode: decode, encode: encode, keepsFetchedBytes: true, now: now)
    }

    init(
        _ cache: DiskCache, name: @escaping @Sendable (Key) -> String,
        decode: @escaping @Sendable ([UInt8]) throws -> Value, encode: (@Sendable (Value) throws -> [UInt8]?)?,
        keepsFetchedBytes: Bool, now: @escaping @Sendable () -> Date
    ) {
        self.cache = cache
        self.name = name
        self.decode = decode
        self.encode = encode
        self.keepsFetchedBytes = keepsFetchedBytes
        self.now = now
        // Reading blocks its thread, which the tasks of the app must not lack.
        reading = DispatchQueue(label: "optimist.loading.reading", attributes: .concurrent)
        writing = DispatchQueue(label: "optimist.loading.writing")
    }

    // MARK: - Reading

    @usableFromInline
    func value(for key: Key) async -> (value: Value, validity: Validity)? {
        switch pending.withLock({ $0.found(key) }) {
        case .value(let value, let validity): (value, validity)
        case .removed: nil
        case .nothing: await offTheTasks { [self] in stored(for: name(key)) }
        }
    }

    func offTheTasks<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            reading.async { continuation.resume(returning: work()) }
        }
    }

    /// What the disk has of a key, as bytes.
    func stored(_ key: Key) -> DiskEntry? { cache.entry(for: name(key)) }

    private func stored(for name: String) -> (Value, Validity)? {
        guard let entry = cache.entry(for: name) else { return nil }
        do {
            return (try decode(entry.bytes), entry.validity)
        } catch {
            cache.remove(name)
            return nil
        }
    }

    // MARK: - Writing

    @usableFromInline typealias Write = PendingWrites<Key, Value>.Write

    /// Notes a value to keep. Call it under the loader's lock, so that the later of two values of a key stays, and then
    /// ``write()`` without it.
    ///
    /// - Parameters:
    ///   - costBytes: What the value takes of the memory.
    ///   - former: What the source was asked about.
    /// - Returns: The value that no longer has to be written. Release it without the lock.
    @usableFromInline
    func book(
        _ fetched: Fetched<Value>, _ value: Value, _ costBytes: Int, former: Validity? = nil, for key: Key
    ) -> Write? {
        let (sum, isTooMuch) = costBytes.addingReportingOverflow(fetched.bytes?.count ?? 0)
        let write = Write(fetched: fetched, value: value, former: former, costBytes: isTooMuch ? .max : sum)
        return pending.withLock { $0.add(write, for: key).replaced }
    }

    /// Begins to write the noted values, if no task does.
    @usableFromInline
    func write() {
        if pending.withLock({ $0.begin() }) { writing.async { [self] in writeAll() } }
    }

    private func writeAll() {
        while let (number, key, write) = pending.withLock({ $0.first() }) {
            let name = name(key)
            let entry = write.flatMap(encoded)
            let done = atWork.withLock { _ in
                // It may have been replaced or removed meanwhile.
                guard pending.withLock({ $0.isStanding(number) }) else { return nil as Write? }
                if let entry {
                    cache.store(entry, for: name)
                } else if !(write.map { refresh(name, $0) } ?? false) {
                    // If it is not kept, neither is the one before it, which would later be taken for it.
                    cache.remove(name)
                }
                return pending.withLock { $0.end(number) }
            }
            _ = done  // Released here, where no lock is held.
        }
    }

    private func encoded(_ write: Write) -> DiskEntry? {
        guard write.fetched.value != nil, write.fetched.isKeptOnDisk,
            let bytes = (keepsFetchedBytes ? write.fetched.bytes : nil) ?? (try? encode?(write.value)) ?? nil
        else { return nil }
        let validity = write.fetched.validity
        return DiskEntry(
            bytes: bytes, storedAt: now(), expiresAt: validity.expiresAt, etag: validity.etag,
            lastModified: validity.lastModified)
    }

    /// Notes that a source has confirmed a value. Returns false if the disk has another one, or may have none.
    private func refresh(_ name: String, _ write: Write) -> Bool {
        guard write.fetched.value == nil, write.fetched.isKeptOnDisk else { return false }
        return cache.refresh(name, to: write.fetched.validity) { $0.validity.isOfSameVersion(as: write.former) }
    }

    /// Waits until all values kept so far are on the disk.
    func settled() async {
        await withCheckedContinuation { continuation in writing.async { continuation.resume() } }
    }

    // MARK: - Removing

    /// Takes note that a key's value is to go: from now on it is not found here. Call it under the loader's lock, and
    /// then ``remove(_:noted:)`` without it.
    func bookRemoval(of key: Key) -> (number: Int, replaced: Write?) { pending.withLock { $0.add(nil, for: key) } }

    func remove(_ key: Key, noted number: Int) {
        let name = name(key)
        atWork.withLock { _ in
            guard pending.withLock({ $0.isStanding(number) }) else { return }
            cache.remove(name)
            _ = pending.withLock { $0.end(number) }
        }
    }

    /// As ``bookRemoval(of:)``, for all keys; ``removeAll()`` follows.
    func bookRemovalOfAll() -> [Write] { pending.withLock { $0.beginRemovingAll() } }

    func removeAll() {
        atWork.withLock { _ in
            cache.removeAll()
            pending.withLock { $0.endRemovingAll() }
        }
    }
}
