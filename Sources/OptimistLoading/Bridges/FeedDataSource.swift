// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(UIKit)
    public import UIKit

    extension UICollectionViewDiffableDataSource where SectionIdentifierType: Sendable, ItemIdentifierType: Sendable {
        /// Shows a feed's snapshot: items come, go and move by their ids, and cells whose item or value has changed are
        /// configured again.
        ///
        /// ```swift
        /// let source = UICollectionViewDiffableDataSource<Kind, Photo.ID>(collectionView: view) { … }
        /// for await snapshot in feed.snapshots() { await source.show(snapshot) }
        /// ```
        ///
        /// - Parameters:
        ///   - snapshot: Those of one observer, one after the other: what each has changed counts from the one before.
        ///   - animatingDifferences: Default: no, so that what is on the screen stays where it is.
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
        /// Says what a collection view shows whenever it has scrolled or been laid out, by what its data source calls the items.
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
