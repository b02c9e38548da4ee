// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(UIKit)
    public import Foundation
    public import UIKit

    /// Lets a loader fetch what a collection view is about to show (F8).
    ///
    /// ```swift
    /// let prefetcher = CollectionPrefetcher(pictures) { [items] in items[$0.item].url }
    /// collectionView.prefetchDataSource = prefetcher
    /// // In the cell, for as long as it shows the item:
    /// cell.ticket = pictures.subscribe(item.url) { … }
    /// ```
    @MainActor
    public final class CollectionPrefetcher<Key: Hashable & Sendable, Value: Sendable>: NSObject,
        UICollectionViewDataSourcePrefetching
    {
        private let loader: Loader<Key, Value>
        private let key: (IndexPath) -> Key?
        private let limit: Int
        /// The oldest first: the view does not say when it has shown what it had announced.
        private var tickets: [(path: IndexPath, ticket: Ticket)] = []

        /// - Parameters:
        ///   - loader: Fetches the values.
        ///   - limit: The most items that are held ahead. What was announced before those is let go. Default: 32.
        ///   - key: Names what an item shows. Nil: nothing is fetched for it.
        public init(_ loader: Loader<Key, Value>, limit: Int = 32, key: @escaping (IndexPath) -> Key?) {
            self.loader = loader
            self.limit = limit
            self.key = key
        }

        public func collectionView(_ collectionView: UICollectionView, prefetchItemsAt indexPaths: [IndexPath]) {
            for path in indexPaths where !tickets.contains(where: { $0.path == path }) {
                guard let key = key(path) else { continue }
                tickets.append((path, loader.subscribe(key, priority: .prefetch) { _ in }))
            }
            tickets.removeFirst(max(tickets.count - limit, 0))
        }

        public func collectionView(
            _ collectionView: UICollectionView, cancelPrefetchingForItemsAt indexPaths: [IndexPath]
        ) {
            tickets.removeAll { indexPaths.contains($0.path) }
        }
    }
#endif
