// This source file is part of the Optimist open source project, under the MIT licence.

/// The items that a view has announced, each with its path, its key and a hold.
///
/// A path is only valid until the next reload, so the key at the time of the announcement is stored.
struct AnnouncedItems<Path: Hashable, Key: Hashable, Hold> {
    private struct Item {
        let path: Path
        let key: Key
        let hold: Hold
    }

    private let limit: Int
    /// The oldest first. A limit is needed, because views do not report when they have shown an announced item.
    private var items: [Item] = []

    /// - Parameter limit: The maximum number of items. The oldest are released first.
    init(limit: Int) {
        precondition(limit >= 0, "A limit must not be negative.")
        self.limit = limit
    }

    var count: Int { items.count }

    /// Holds an item, unless it is held already. Releases another item at the same path.
    mutating func announce(_ path: Path, _ key: Key, hold: () -> Hold) {
        if items.contains(where: { $0.path == path && $0.key == key }) { return }
        items.removeAll { $0.path == path }
        items.append(Item(path: path, key: key, hold: hold()))
        items.removeFirst(max(items.count - limit, 0))
    }

    mutating func cancel(_ paths: [Path]) { items.removeAll { paths.contains($0.path) } }

    mutating func removeAll() { items = [] }
}

/// The keys of a loader that a view has announced. Keys are released in batches.
///
/// Not thread-safe.
final class AnnouncedKeys<Path: Hashable, Key: Hashable & Sendable, Value: Sendable> {
    private let loader: Loader<Key, Value>
    private var items: AnnouncedItems<Path, Key, LoadSubscription>

    init(_ loader: Loader<Key, Value>, limit: Int) {
        self.loader = loader
        items = AnnouncedItems(limit: limit)
    }

    deinit { loader.batch { items.removeAll() } }

    func announce(_ announced: [(path: Path, key: Key)]) {
        loader.batch {
            for (path, key) in announced {
                items.announce(path, key) { loader.subscribe(key, priority: .prefetch) { _ in } }
            }
        }
    }

    func cancel(_ paths: [Path]) { loader.batch { items.cancel(paths) } }

    func removeAll() { loader.batch { items.removeAll() } }
}
