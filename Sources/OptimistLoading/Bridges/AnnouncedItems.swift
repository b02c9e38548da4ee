// This source file is part of the Optimist open source project, under the MIT licence.

/// The items that a view has announced that it will show: a key at each path, and a hold on each key (F8).
///
/// A path names an item until the next reload only, so the key is remembered that it stood for when it was announced.
struct AnnouncedItems<Path: Hashable, Key: Hashable, Hold> {
    private struct Item {
        let path: Path
        let key: Key
        let hold: Hold
    }

    private let limit: Int
    /// The oldest first: a view does not say when it has shown what it had announced.
    private var items: [Item] = []

    /// - Parameter limit: The most items. Items announced before those are let go.
    init(limit: Int) {
        precondition(limit >= 0, "a limit is not negative")
        self.limit = limit
    }

    var count: Int { items.count }

    /// Holds on to an item, unless it is held already. Another one that was at its path is let go.
    mutating func announce(_ path: Path, _ key: Key, hold: () -> Hold) {
        if items.contains(where: { $0.path == path && $0.key == key }) { return }
        items.removeAll { $0.path == path }
        items.append(Item(path: path, key: key, hold: hold()))
        items.removeFirst(max(items.count - limit, 0))
    }

    mutating func cancel(_ paths: [Path]) { items.removeAll { paths.contains($0.path) } }

    mutating func removeAll() { items = [] }
}

/// The keys of a loader that a view has announced. Keys that are let go together leave in one step.
///
/// Not to be used by two threads at once.
final class AnnouncedKeys<Path: Hashable, Key: Hashable & Sendable, Value: Sendable> {
    private let loader: Loader<Key, Value>
    private var items: AnnouncedItems<Path, Key, LoadSubscription>

    init(_ loader: Loader<Key, Value>, limit: Int) {
        self.loader = loader
        items = AnnouncedItems(limit: limit)
    }

    deinit { loader.batch { items.removeAll() } }

    /// Prefetches what is at some paths.
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
