// This source file is part of the Optimist open source project, under the MIT licence.

/// A screen of short videos.
protocol ShortsShowing: Sendable {
    var board: ShortsBoard { get }
    /// Shows the first of them, unless it shows some already.
    func open(_ shorts: [Short]) async
    func show(_ index: Int) async
    func retry() async
    func close() async
}
