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
    private let reading: DispatchQueue
    /// One after the other, so that of two values of a key the later stays.
    private let writing: DispatchQueue
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
        reading = DispatchQueue(label: "optimist.loading.reading", attributes: .concurrent)
        writing = DispatchQueue(label: "optimist.loading.writing")
    }

    private func offTheTasks<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            reading.async { continuation.resume(returning: work()) }
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
    /// If it is not kept, neither is the one before it, which would later be taken for it.
    ///
    /// - Parameter former: What the source was asked about.
    @usableFromInline
    func keep(
        _ fetched: Fetched<Value>, _ value: Value, former: Validity?, for key: Key, during calm: Int?
    ) {
        guard let calm, bookWrite() else { return cache.remove(name(key)) }
        writing.async { [self] in
            defer { writes.withLock { $0 -= 1 } }
            let isKept = self.calm == calm && store(fetched, value, former, name(key))
            if !isKept || self.calm != calm { cache.remove(name(key)) }
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
        await withCheckedContinuation { continuation in writing.async { continuation.resume() } }
    }

    private func store(_ fetched: Fetched<Value>, _ value: Value, _ former: Validity?, _ name: String) -> Bool {
        let validity = fetched.validity
        guard fetched.isKeptOnDisk else { return false }
        if fetched.value == nil {
            // What was confirmed need not be what is here.
            guard let entry = cache.entry(for: name), entry.etag == former?.etag,
                entry.lastModified == former?.lastModified
            else { return false }
            return cache.refresh(
                name, expiresAt: validity.expiresAt, etag: validity.etag, lastModified: validity.lastModified)
        }
        guard let bytes = fetched.bytes ?? (try? encode?(value)) ?? nil else { return false }
        let entry = DiskEntry(
            bytes: bytes, storedAt: now(), expiresAt: validity.expiresAt, etag: validity.etag,
            lastModified: validity.lastModified)
        return cache.store(entry, for: name)
    }

    /// - Parameter also: What is removed elsewhere: whoever sees that gone does not find the value here either.
    func remove(_ key: Key, also: () -> Void) {
        remove(also) { cache.remove(name(key)) }
    }

    func removeAll(also: () -> Void) {
        remove(also) { cache.removeAll() }
    }

    private func remove(_ elsewhere: () -> Void, _ here: () -> Void) {
        removals.withLock { $0.begun += 1 }
        elsewhere()
        here()
        removals.withLock { $0.ended += 1 }
    }
}
