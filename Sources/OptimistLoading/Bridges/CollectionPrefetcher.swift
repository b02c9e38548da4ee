// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(UIKit)
    public import Foundation
    public import UIKit

    /// Prefetches values that a collection view is about to show.
    ///
    /// ```swift
    /// // The closure reads what the controller shows now, and returns nil for an outdated path.
    /// let prefetcher = CollectionPrefetcher(pictures) { [weak self] path in
    ///     guard let self, items.indices.contains(path.item) else { return nil }
    ///     return items[path.item].url
    /// }
    /// collectionView.prefetchDataSource = prefetcher
    /// // In the cell, for as long as it shows the item:
    /// cell.ticket = pictures.subscribe(item.url) { … }
    /// // Whenever the items change:
    /// collectionView.reloadData()
    /// prefetcher.reload()
    /// ```
    @MainActor
    public final class CollectionPrefetcher<Key: Hashable & Sendable, Value: Sendable>: NSObject,
        UICollectionViewDataSourcePrefetching
    {
        private let key: (IndexPath) -> Key?
        private let announced: AnnouncedKeys<IndexPath, Key, Value>

        /// Creates a prefetcher.
        ///
        /// - Parameters:
        ///   - loader: Loads the values.
        ///   - limit: The maximum number of items to prefetch. The oldest are released first. Default: 32.
        ///   - key: Returns the key of an item. Nil: nothing is prefetched, for example because the path is outdated.
        /// - Precondition: The limit is not negative.
        public init(_ loader: Loader<Key, Value>, limit: Int = 32, key: @escaping (IndexPath) -> Key?) {
            self.key = key
            announced = AnnouncedKeys(loader, limit: limit)
        }

        /// Releases all announced items. Call it when the data source is reloaded, because paths then refer to other
        /// items.
        public func reload() { announced.removeAll() }

        public func collectionView(_ collectionView: UICollectionView, prefetchItemsAt indexPaths: [IndexPath]) {
            var items: [(path: IndexPath, key: Key)] = []
            for path in indexPaths {
                if let key = key(path) { items.append((path: path, key: key)) }
            }
            announced.announce(items)
        }

        public func collectionView(
            _ collectionView: UICollectionView, cancelPrefetchingForItemsAt indexPaths: [IndexPath]
        ) {
            announced.cancel(indexPaths)
        }
    }
#endif
