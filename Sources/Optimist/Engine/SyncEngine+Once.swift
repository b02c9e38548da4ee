// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension SyncEngine {
    /// Sends and receives all changes once, for a background task, a command or a test.
    ///
    /// It returns when everything sendable was sent and the server's changes were received, or when the engine would
    /// have to wait: offline, paused, or after a disk error. A lane that waits after failures starts immediately,
    /// unless the server demanded the wait. If ``run()`` is under way, that run does the work. A call of ``run()``
    /// during this one begins when this one has ended.
    ///
    /// - Parameter timeout: Default: 25 seconds, because the system gives a background refresh about 30. The next call
    ///   repeats unanswered requests, so no change is lost.
    /// - Returns: What remains, and why.
    /// - Throws: `CancellationError` if the task was cancelled; `DatabaseError` if the counts cannot be read.
    public func syncOnce(timeout: Duration = .seconds(25)) async throws -> SyncOutcome {
        while let cycle { await cycle.value }
        let (phases, waiter) = AsyncStream<SyncStatus.Phase>.makeStream()
        let own = inbox.open().map(start)
        inbox.put(.foreground, waiter: waiter)
        let phase = await first(of: phases, within: timeout)
        let status = try? await statuses.current()
        own?.cancel()
        await own?.value
        try Task.checkCancellation()
        if let status { return SyncOutcome(phase, status) }
        return SyncOutcome(phase, try await self.statuses.current())
    }

    /// - Returns: Nil after the timeout, or if the run was cancelled.
    private func first(
        of phases: AsyncStream<SyncStatus.Phase>, within limit: Duration
    ) async -> SyncStatus.Phase? {
        await withTaskGroup { group in
            group.addTask { await phases.first { _ in true } }
            group.addTask { [clock = dependencies.clock] in
                try? await clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func start(_ events: AsyncStream<Inbox.Signal>) -> Task<Void, Never> {
        let task = dependencies.spawn {
            await self.take(events, listens: false)
            await self.endCycle()
        }
        cycle = task
        return task
    }

    private func endCycle() { cycle = nil }
}
