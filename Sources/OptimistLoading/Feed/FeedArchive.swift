// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
public import Foundation
import OptimistCore

/// Keeps the first pages of a feed's sections between launches, so that a launch can show items immediately.
public final class FeedArchive<Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Sendable>: Sendable {
    /// The maximum number of items to keep for each section.
    public let limit: Int
    private let cache: DiskCache
    private let name: @Sendable (Section, Filter) -> String
    private let encode: @Sendable (FeedPage<Item>) throws -> Data
    private let decode: @Sendable (Data) throws -> FeedPage<Item>
    private let now: @Sendable () -> Date
    /// Serial, so that the later of two lists wins. Blocking disk calls must not run on Swift's cooperative thread
    /// pool.
    private let queue = DispatchQueue(label: "optimist.loading.feed")
    /// The number of removals. A page that was waiting to be stored when the last removal happened is not stored.
    private let removals = Mutex(0)

    /// Creates an archive.
    ///
    /// - Parameters:
    ///   - cache: Stores the pages. It may be shared if the names differ. Its limits decide how long pages are kept.
    ///   - limit: The maximum number of items to keep for each section. Only complete pages are kept, and the first
    ///     page even if it is larger. Default: 64.
    ///   - now: The time of day.
    ///   - name: Returns the unique name of a section with a filter, the same in every launch.
    public init(
        _ cache: DiskCache, limit: Int = 64, now: @escaping @Sendable () -> Date = { Date() },
        name: @escaping @Sendable (Section, Filter) -> String
    ) where Item: Codable {
        self.cache = cache
        self.limit = limit
        self.now = now
        self.name = name
        encode = { try JSONEncoder().encode($0) }
        decode = { try JSONDecoder().decode(FeedPage<Item>.self, from: $0) }
    }

    /// Returns the stored page. A page that cannot be decoded, such as one of an older app version, is ignored.
    func page(of section: Section, _ filter: Filter) async -> FeedPage<Item>? {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let entry = cache.entry(for: name(section, filter))
                continuation.resume(returning: entry.flatMap { try? decode(Data($0.bytes)) })
            }
        }
    }

    var generation: Int { removals.withLock { $0 } }

    /// Stores a page asynchronously. If it cannot be encoded, the previous page is removed.
    ///
    /// - Parameter generation: The generation before the decision to store the page.
    func keep(_ page: FeedPage<Item>, of section: Section, _ filter: Filter, generation: Int) {
        queue.async { [self] in
            guard generation == self.generation else { return }
            let name = name(section, filter)
            guard let data = try? encode(page) else { return cache.remove(name) }
            cache.store(DiskEntry(bytes: Array(data), storedAt: now()), for: name)
        }
    }

    /// Empties the cache, including data that other objects store in this cache. Returns when done. Call it when the
    /// user signs out.
    ///
    /// It removes everything because the archive does not know the names that earlier launches used. Pages that wait to
    /// be stored are dropped. A running feed stores its next pages again: call ``Feed/removeAll()`` to clear the feed
    /// as well. Cancellation has no effect.
    public func removeAll() async {
        removals.withLock { $0 += 1 }
        await withCheckedContinuation { continuation in
            queue.async { [cache] in
                cache.removeAll()
                continuation.resume()
            }
        }
    }

    func settled() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
