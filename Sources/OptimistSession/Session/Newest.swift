// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// An observable value. Each observer receives the current value, then always the newest one, without a backlog.
package final class Newest<Value: Sendable>: Sendable {
    private struct Watched {
        var value: Value
        var version = 1
        var lastID = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let watched: Mutex<Watched>

    package init(_ value: Value) { watched = Mutex(Watched(value: value)) }

    var value: Value { watched.withLock { $0.value } }

    /// Replaces the value, unless a later version was published first: two threads may publish in either order.
    package func publish(_ value: Value, version: Int) {
        let waiting = watched.withLock { watched in
            guard version > watched.version else { return [:] as [Int: CheckedContinuation<Void, Never>] }
            watched.value = value
            watched.version = version
            defer { watched.waiting = [:] }
            return watched.waiting
        }
        for (_, wake) in waiting.sorted(by: { $0.key < $1.key }) { wake.resume() }
    }

    /// Returns the value as soon as its version is later than `seen`, or nil if the calling task is cancelled.
    package func next(after seen: inout Int) async -> Value? {
        let version = seen
        let id = watched.withLock { watched in
            watched.lastID += 1
            return watched.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { wake in
                let isReady = watched.withLock { watched in
                    if watched.version > version || Task.isCancelled { return true }
                    watched.waiting[id] = wake
                    return false
                }
                if isReady { wake.resume() }
            }
        } onCancel: {
            watched.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
        if Task.isCancelled { return nil }
        return watched.withLock { watched in
            seen = watched.version
            return watched.value
        }
    }
}

/// The states of a session: the current one, then each new one. The sequence ends when its task is cancelled.
///
/// A slow iteration skips states but always gets the last. Consecutive states differ, unless states in between were
/// skipped.
public struct SessionStates: AsyncSequence, Sendable {
    let states: Newest<SessionState>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(states: states) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let states: Newest<SessionState>
        private var seen = 0

        init(states: Newest<SessionState>) { self.states = states }

        public mutating func next() async -> SessionState? { await states.next(after: &seen) }
    }
}
