// This source file is part of the Optimist open source project, under the MIT licence.

/// The anchors below which the last check allowed rows, so that a series of writes below one parent is checked once.
/// Pure.
///
/// A check holds until something else is written: a role, the place of a row, or a page of the server.
struct CheckedAnchors: Sendable, Equatable {
    private static let most = 1_000

    private var anchors: Set<SpaceWrites.Anchor> = []

    /// Whether the writes are only new, changed or deleted rows below checked anchors.
    func cover(_ writes: SpaceWrites) -> Bool { writes.hasOnlyAnchors && writes.anchors.isSubset(of: anchors) }

    mutating func add(_ writes: SpaceWrites) {
        guard writes.hasOnlyAnchors else { return forget() }
        if anchors.count >= Self.most { forget() }
        anchors.formUnion(writes.anchors)
    }

    mutating func forget() { anchors = [] }
}
