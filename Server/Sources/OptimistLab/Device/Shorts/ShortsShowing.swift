// This source file is part of the Optimist open source project, under the MIT licence.

protocol ShortsShowing: Sendable {
    var board: ShortsBoard { get }
    /// Shows the first video, unless the list is already loaded.
    func open(_ shorts: [Short]) async
    func show(_ index: Int) async
    func retry() async
    func close() async
}
