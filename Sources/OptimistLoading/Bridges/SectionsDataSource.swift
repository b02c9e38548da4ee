// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(UIKit)
    public import UIKit

    extension UICollectionViewDiffableDataSource where SectionIdentifierType: Sendable, ItemIdentifierType: Sendable {
        /// Shows a screen's sections: they come and go by their ids, and the cells of those that have changed are configured again.
        ///
        /// ```swift
        /// let source = UICollectionViewDiffableDataSource<Part, Part>(collectionView: view) { … }
        /// for await snapshot in home.snapshots() { await source.show(snapshot) { part, _ in [part] } }
        /// ```
        ///
        /// - Parameters:
        ///   - snapshot: Those of one observer, one after the other: what each has changed counts from the one before.
        ///   - animatingDifferences: Default: yes.
        ///   - items: The items of a section, such as the section itself where it is one cell. None may come twice on a screen.
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
