// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(UIKit)
    public import UIKit

    extension UICollectionViewDiffableDataSource where SectionIdentifierType: Sendable, ItemIdentifierType: Sendable {
        /// Shows a screen's sections: inserts and removes them by their ids, and reconfigures the cells of changed
        /// sections.
        ///
        /// ```swift
        /// let source = UICollectionViewDiffableDataSource<Part, Part>(collectionView: view) { … }
        /// for await snapshot in home.snapshots() { await source.show(snapshot) { part, _ in [part] } }
        /// ```
        ///
        /// - Parameters:
        ///   - snapshot: The next snapshot of one observer. Do not skip a snapshot, because its changes are relative to
        ///     the previous one.
        ///   - animatingDifferences: Default: true.
        ///   - items: Returns the items of a section, such as the section itself if it is a single cell. Items must be
        ///     unique on the screen.
        @MainActor
        public func show<Screen>(
            _ snapshot: ScreenSnapshot<SectionIdentifierType, Screen>, animatingDifferences: Bool = true,
            items: (SectionIdentifierType, Screen) -> [ItemIdentifierType]
        ) async {
            let former = Set(self.snapshot().itemIdentifiers)
            var shown = NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>()
            shown.appendSections(snapshot.ids)
            for id in snapshot.ids {
                let items = items(id, snapshot.screen)
                shown.appendItems(items, toSection: id)
                if snapshot.changed.contains(id) { shown.reconfigureItems(items.filter(former.contains)) }
            }
            await apply(shown, animatingDifferences: animatingDifferences)
        }
    }
#endif
