// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
import OptimistWire
import Synchronization

/// Counts the requests that each session has in flight, and refuses those beyond the limit.
final class RequestSlots: Sendable {
    private let inFlight = Mutex<[String: Int]>([:])
    private let limit = RowSync.Limit.concurrentRequests

    /// Runs `work` in one of the session's slots.
    ///
    /// - Throws: ``RequestProblem`` `limit` with status 429 when all are taken, and what `work` throws.
    func run<Value>(session: String, _ work: () async throws -> Value) async throws -> Value {
        try enter(session)
        defer { leave(session) }
        return try await work()
    }

    private func enter(_ session: String) throws {
        let isFree = inFlight.withLock { inFlight in
            let count = inFlight[session, default: 0]
            if count < limit { inFlight[session] = count + 1 }
            return count < limit
        }
        if !isFree {
            throw RequestProblem.limit(
                "maxConcurrentRequests", "A device has at most \(limit) requests at a time.", status: 429)
        }
    }

    private func leave(_ session: String) {
        inFlight.withLock { inFlight in
            let count = inFlight[session, default: 1] - 1
            inFlight[session] = count == 0 ? nil : count
        }
    }
}
