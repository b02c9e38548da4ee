// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
public import Foundation
import OptimistCore

/// Keeps the first pages of a feed's sections between launches, so that there is something to show at once (F6).
public final class FeedArchive<Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Sendable>: Sendable {
    /// The most items of a section that are kept.
    public let limit: Int
    private let cache: DiskCache
    private let name: @Sendable (Section, Filter) -> String
    private let encode: @Sendable (FeedPage<Item>) throws -> Data
    private let decode: @Sendable (Data) throws -> FeedPage<Item>
    private let now: @Sendable () -> Date
    /// One after the other, so that of two lists of a section the later stays. The disk must not hold up the app's tasks.
    private let queue = DispatchQueue(label: "optimist.loading.feed")
    /// How often everything has been removed. A page that was decided on before that is no longer kept.
    private let removals = Mutex(0)

    /// - Parameters:
    ///   - cache: Where the bytes are. It may be shared if the names differ. Its limits say how long they stay.
    ///   - limit: The most items of a section that are kept: whole pages, and the first page in any case. Default: 64.
    ///   - now: The time of day.
    ///   - name: Names a section with a filter for good: another launch of the app must find it under the same. Different ones
    ///     have different names.
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

    /// A page that cannot be read, such as one of an older version of the app, is ignored.
    func page(of section: Section, _ filter: Filter) async -> FeedPage<Item>? {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let entry = cache.entry(for: name(section, filter))
                continuation.resume(returning: entry.flatMap { try? decode(Data($0.bytes)) })
            }
        }
    }

    var generation: Int { removals.withLock { $0 } }

    /// Keeps a page, soon. If it cannot be kept, neither is the one before it.
    ///
    /// - Parameter generation: That of the time before it was decided on.
    func keep(_ page: FeedPage<Item>, of section: Section, _ filter: Filter, generation: Int) {
        queue.async { [self] in
            guard generation == self.generation else { return }
            let name = name(section, filter)
            guard let data = try? encode(page) else { return cache.remove(name) }
            cache.store(DiskEntry(bytes: Array(data), storedAt: now()), for: name)
        }
    }

    /// Empties the whole cache, also of what others keep in it, and returns when that is done: for signing out (C10).
    ///
    /// An archive knows no names but those it is asked for, and earlier launches have kept pages too. What a feed was about to
    /// keep is not kept. A feed that goes on keeps what it gets from now on: ``Feed/removeAll()`` makes it forget as well. To
    /// cancel the task changes nothing.
    public func removeAll() async {
        removals.withLock { $0 += 1 }
        await withCheckedContinuation { continuation in
            queue.async { [cache] in
                cache.removeAll()
                continuation.resume()
            }
        }
    }

    /// Waits until all pages kept so far are on the disk.
    func settled() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
