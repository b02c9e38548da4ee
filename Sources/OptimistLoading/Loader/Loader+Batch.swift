// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Loader {
    /// Combines several changes, so that no fetch begins before all are made.
    ///
    /// Use it to release many subscriptions together, such as those of a list that closes. If they were released one by
    /// one, each running fetch would make room for a waiting fetch that is cancelled a moment later.
    ///
    /// ```swift
    /// pictures.batch { for cell in cells { cell.ticket = nil } }
    /// ```
    ///
    /// Values in memory are still delivered immediately. Batches may be nested, on any threads; fetches begin when the
    /// last batch ends.
    ///
    /// - Parameter changes: Runs once, before this function returns, without the loader's lock. Fetches of all threads
    ///   wait until it returns, so it must not block.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure. Its changes stay.
    public func batch<Result>(_ changes: () throws -> Result) rethrows -> Result {
        state.withLock { $0.machine.beginBatch() }
        defer {
            let now = elapsed()
            run(state.withLock { $0.actions($0.machine.endBatch(at: now)) })
        }
        return try changes()
    }
}
