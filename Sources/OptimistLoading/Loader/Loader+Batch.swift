// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Loader {
    /// Makes several changes as one: no fetch begins before all of them are made.
    ///
    /// Use it where many tickets are let go together, such as those of all cells of a list that closes. Let go one by one, a
    /// ticket whose fetch has begun makes room for one that waits, which is given up a moment later.
    ///
    /// ```swift
    /// pictures.batch { for cell in cells { cell.ticket = nil } }
    /// ```
    ///
    /// A value in memory is delivered at once, as ever. Batches may be nested; the last one to end counts, on whichever
    /// thread.
    ///
    /// - Parameter changes: Runs once, before this returns, without the loader's lock. Fetches of all threads wait until it
    ///   has returned: it must not block.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws. What it had changed stays so.
    public func batch<Result>(_ changes: () throws -> Result) rethrows -> Result {
        state.withLock { $0.machine.beginBatch() }
        defer {
            let now = elapsed()
            run(state.withLock { $0.actions($0.machine.endBatch(at: now)) })
        }
        return try changes()
    }
}
