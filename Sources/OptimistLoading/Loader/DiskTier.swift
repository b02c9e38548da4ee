// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
public import Foundation
import OptimistCore

/// Keeps a loader's values on disk between launches.
///
/// Values that wait to be written stay in memory: up to 256 values and 16 MB, or a single larger one. If the disk is
/// further behind, the tier does not store newer values.
public final class DiskTier<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let cache: DiskCache
    private let name: @Sendable (Key) -> String
    private let decode: @Sendable ([UInt8]) throws -> Value
    private let encode: (@Sendable (Value) throws -> [UInt8]?)?
    private let keepsFetchedBytes: Bool
    private let now: @Sendable () -> Date
    private let reading: DispatchQueue
    private let writing: DispatchQueue
    private let pending = Mutex(PendingWrites<Key, Value>(mostValues: 256, mostBytes: 16 << 20))
    /// Serializes writes and removals.
    private let atWork = Mutex(())

    /// Creates a tier.
    ///
    /// - Parameters:
    ///   - cache: Stores the bytes. Tiers may share a cache if their names differ, and if their values may be removed
    ///     together: ``Loader/removeAll()`` of any of their loaders empties the cache.
    ///   - name: Returns the unique name of a key, the same in every launch.
    ///   - decode: Decodes a value. If it throws, the entry is removed, and the value is fetched.
    ///   - encode: Encodes a value for which the fetch did not return bytes. If it returns nil or throws, the value is
    ///     not stored. Default: nil, such values are not stored.
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
        // Reads block their thread, so they must not run on Swift's cooperative thread pool.
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

    /// Queues a write. Call this under the loader's lock, so that the later of two values wins. Then release the lock
    /// and call ``write()``.
    ///
    /// - Parameter former: The validity that the request asked the source to confirm.
    /// - Returns: The replaced write, to be released without the lock.
    @usableFromInline
    func book(
        _ fetched: Fetched<Value>, _ value: Value, _ costBytes: Int, former: Validity? = nil, for key: Key
    ) -> Write? {
        let (sum, isTooMuch) = costBytes.addingReportingOverflow(fetched.bytes?.count ?? 0)
        let write = Write(fetched: fetched, value: value, former: former, costBytes: isTooMuch ? .max : sum)
        return pending.withLock { $0.add(write, for: key).replaced }
    }

    /// Starts a worker for the queued writes, if none is running.
    @usableFromInline
    func write() {
        if pending.withLock({ $0.begin() }) { writing.async { [self] in writeAll() } }
    }

    private func writeAll() {
        while let (number, key, write) = pending.withLock({ $0.first() }) {
            let name = name(key)
            let entry = write.flatMap(encoded)
            let done = atWork.withLock { _ in
                // The write may have been replaced or removed while it was encoded.
                guard pending.withLock({ $0.isStanding(number) }) else { return nil as Write? }
                if let entry {
                    cache.store(entry, for: name)
                } else if !(write.map { refresh(name, $0) } ?? false) {
                    // If the new value is not stored, remove the old one, which would otherwise be taken for it.
                    cache.remove(name)
                }
                return pending.withLock { $0.end(number) }
            }
            _ = done  // Released here, without a lock.
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

    /// Returns false if the disk has another version or none.
    private func refresh(_ name: String, _ write: Write) -> Bool {
        guard write.fetched.value == nil, write.fetched.isKeptOnDisk else { return false }
        return cache.refresh(name, to: write.fetched.validity) { $0.validity.isOfSameVersion(as: write.former) }
    }

    func settled() async {
        await withCheckedContinuation { continuation in writing.async { continuation.resume() } }
    }

    // MARK: - Removal

    /// Queues a removal and hides the value. Call this under the loader's lock. Then release the lock and call
    /// ``remove(_:noted:)``.
    func bookRemoval(of key: Key) -> (number: Int, replaced: Write?) { pending.withLock { $0.add(nil, for: key) } }

    func remove(_ key: Key, noted number: Int) {
        let name = name(key)
        atWork.withLock { _ in
            guard pending.withLock({ $0.isStanding(number) }) else { return }
            cache.remove(name)
            _ = pending.withLock { $0.end(number) }
        }
    }

    /// As ``bookRemoval(of:)``, for all keys. Call ``removeAll()`` next.
    func bookRemovalOfAll() -> [Write] { pending.withLock { $0.beginRemovingAll() } }

    func removeAll() {
        atWork.withLock { _ in
            cache.removeAll()
            pending.withLock { $0.endRemovingAll() }
        }
    }
}
