// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(UIKit)
    public import UIKit

    extension UICollectionViewDiffableDataSource where SectionIdentifierType: Sendable, ItemIdentifierType: Sendable {
        /// Shows a feed's snapshot: inserts, removes and moves items by their ids, and reconfigures cells whose item or
        /// value has changed.
        ///
        /// ```swift
        /// let source = UICollectionViewDiffableDataSource<Kind, Photo.ID>(collectionView: view) { … }
        /// for await snapshot in feed.snapshots() { await source.show(snapshot) }
        /// ```
        ///
        /// - Parameters:
        ///   - snapshot: The next snapshot of one observer. Do not skip a snapshot, because its changes are relative to
        ///     the previous one.
        ///   - animatingDifferences: Default: false, so that visible items do not move.
        @MainActor
        public func show<Filter, Item, Value>(
            _ snapshot: FeedSnapshot<SectionIdentifierType, Filter, Item, Value>, animatingDifferences: Bool = false
        ) async where Item.ID == ItemIdentifierType {
            var shown = self.snapshot()
            let changes = snapshot.changes
            if changes.isStructural || shown.numberOfSections == 0 {
                shown = NSDiffableDataSourceSnapshot()
                shown.appendSections(snapshot.sections.map(\.id))
                for section in snapshot.sections { shown.appendItems(section.items.map(\.id), toSection: section.id) }
            }
            shown.reconfigureItems(Array(changes.updated))
            await apply(shown, animatingDifferences: animatingDifferences)
        }
    }

    extension Feed {
        /// Reports the visible items of a collection view. Call it whenever the view has scrolled or been laid out.
        ///
        /// ```swift
        /// func scrollViewDidScroll(_ scrollView: UIScrollView) { feed.setVisible(in: collectionView, of: source) }
        /// ```
        @MainActor
        public func setVisible(
            in view: UICollectionView, of source: UICollectionViewDiffableDataSource<Section, Item.ID>
        ) {
            setVisible(view.indexPathsForVisibleItems.compactMap { source.itemIdentifier(for: $0) })
        }
    }
#endif
