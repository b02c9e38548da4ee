// This source file is part of the Optimist open source project, under the MIT licence.

// As much of Apple's UIKit as our adapters use, to type-check them elsewhere.
public import Foundation

@MainActor open class UICollectionView {}

@MainActor
public protocol UICollectionViewDataSourcePrefetching: AnyObject {
    func collectionView(_ collectionView: UICollectionView, prefetchItemsAt indexPaths: [IndexPath])
    func collectionView(_ collectionView: UICollectionView, cancelPrefetchingForItemsAt indexPaths: [IndexPath])
}
