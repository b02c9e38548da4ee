// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
public import Foundation
import Synchronization

/// Keeps a loader's values between launches.
public final class DiskTier<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let cache: DiskCache
    private let name: @Sendable (Key) -> String
    private let decode: @Sendable ([UInt8]) throws -> Value
    private let encode: (@Sendable (Value) throws -> [UInt8]?)?
    private let now: @Sendable () -> Date
    private let queue: DispatchQueue
    private let removals = Mutex(Removals())
    /// How many values wait to be written.
    private let writes = Mutex(0)

    private struct Removals {
        var begun = 0
        var ended = 0
    }

    /// - Parameters:
    ///   - cache: Where the bytes are. Several tiers may share one if their names differ.
    ///   - name: Names a key for good: another launch of the app must find it under the same. Different keys have different
    ///     names.
    ///   - decode: Makes a value of its bytes. If it throws, they are removed, and the value is fetched.
    ///   - encode: Makes the bytes of a value for which the fetch gave none. Nil, the default: such a value is not kept on the
    ///     disk. If it returns nil or throws, neither.
    ///   - now: The time of day.
    public init(
        _ cache: DiskCache, name: @escaping @Sendable (Key) -> String,
        decode: @escaping @Sendable ([UInt8]) throws -> Value,
        encode: (@Sendable (Value) throws -> [UInt8]?)? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.cache = cache
        self.name = name
        self.decode = decode
        self.encode = encode
        self.now = now
        // Reading blocks its thread, which the tasks of the app must not lack.
        queue = DispatchQueue(label: "optimist.loading.disk", attributes: .concurrent)
    }

    private func offTheTasks<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: work()) }
        }
    }

    @usableFromInline
    func value(for key: Key) async -> (value: Value, validity: Validity)? {
        await offTheTasks { [self] in
            let (name, calm) = (name(key), calm)
            guard let entry = cache.entry(for: name) else { return nil }
            do {
                let validity = Validity(
                    expiresAt: entry.expiresAt, etag: entry.etag, lastModified: entry.lastModified)
                let value = try decode(entry.bytes)
                return calm != nil && calm == self.calm ? (value, validity) : nil
            } catch {
                cache.remove(name)
                return nil
            }
        }
    }

    /// Names the time since the last removal. Nil: one is under way. What begins and ends in the same time was not disturbed.
    @usableFromInline var calm: Int? { removals.withLock { $0.begun == $0.ended ? $0.begun : nil } }

    /// Keeps a value, soon, unless something is removed meanwhile, or the disk is so far behind that it would hold up too many.
    @usableFromInline
    func keep(_ fetched: Fetched<Value>, _ value: Value, for key: Key, during calm: Int?) {
        guard let calm, bookWrite() else { return }
        queue.async { [self] in
            defer { writes.withLock { $0 -= 1 } }
            guard self.calm == calm else { return }
            store(fetched, value, name(key))
            if self.calm != calm { cache.remove(name(key)) }
        }
    }

    private static var mostWrites: Int { 256 }

    /// Takes the place of one more write, if there is room for it.
    private func bookWrite() -> Bool {
        writes.withLock { writes in
            guard writes < Self.mostWrites else { return false }
            writes += 1
            return true
        }
    }

    /// Waits until what was to be kept by now is on the disk.
    func settled() async {
        await withCheckedContinuation { continuation in queue.async(flags: .barrier) { continuation.resume() } }
    }

    private func store(_ fetched: Fetched<Value>, _ value: Value, _ name: String) {
        let validity = fetched.validity
        if !fetched.isKeptOnDisk {
            cache.remove(name)
        } else if fetched.value == nil {
            cache.refresh(name, expiresAt: validity.expiresAt, etag: validity.etag, lastModified: validity.lastModified)
        } else if let bytes = fetched.bytes ?? (try? encode?(value)) ?? nil {
            let entry = DiskEntry(
                bytes: bytes, storedAt: now(), expiresAt: validity.expiresAt, etag: validity.etag,
                lastModified: validity.lastModified)
            cache.store(entry, for: name)
        }
    }

    /// - Parameter also: What is removed elsewhere: whoever sees that gone does not find the value here either.
    func remove(_ key: Key, also: () -> Void) {
        removals.withLock { $0.begun += 1 }
        also()
        cache.remove(name(key))
        removals.withLock { $0.ended += 1 }
    }

    func removeAll(also: () -> Void) {
        removals.withLock { $0.begun += 1 }
        also()
        cache.removeAll()
        removals.withLock { $0.ended += 1 }
    }
}
