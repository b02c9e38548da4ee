// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides when a live query runs: while its view is visible, and again when its parameters change.
struct QueryLife<Key: Equatable> {
    enum Action: Equatable {
        case start, stop, nothing
    }

    private(set) var running: Key?

    /// - Parameter key: The view's query. Nil if there is no store.
    mutating func update(_ key: Key?, isVisible: Bool) -> Action {
        let wanted = isVisible ? key : nil
        if wanted == running { return .nothing }
        running = wanted
        return wanted == nil ? .stop : .start
    }
}
