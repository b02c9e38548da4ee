// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

/// Counts the requests in flight of each session, and refuses requests above the limit.
final class RequestSlots: Sendable {
    private let inFlight = Mutex<[String: Int]>([:])
    private let limit = RowSync.Limit.concurrentRequests

    /// Freed by ``leave()`` or on deallocation.
    final class Slot: Sendable {
        private let free: @Sendable () -> Void
        private let isTaken = Mutex(true)

        init(free: @escaping @Sendable () -> Void) { self.free = free }

        deinit { leave() }

        func leave() {
            let mustFree = isTaken.withLock { isTaken in
                defer { isTaken = false }
                return isTaken
            }
            if mustFree { free() }
        }
    }

    /// - Throws: ``RequestProblem`` `limit` with status 429 if all of the session's slots are taken.
    func enter(_ session: String) throws -> Slot {
        let isFree = inFlight.withLock { inFlight in
            let count = inFlight[session, default: 0]
            if count < limit { inFlight[session] = count + 1 }
            return count < limit
        }
        if !isFree {
            throw RequestProblem.limit(
                "maxConcurrentRequests", "A device may send at most \(limit) requests at a time.", status: 429)
        }
        return Slot { [weak self] in self?.leave(session) }
    }

    private func leave(_ session: String) {
        inFlight.withLock { inFlight in
            let count = inFlight[session, default: 1] - 1
            inFlight[session] = count == 0 ? nil : count
        }
    }
}
