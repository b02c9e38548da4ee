// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// A space that this device has removed, with all its rows.
public struct SpaceEnd: Sendable, Hashable {
    public let space: Space.ID
    /// The person's own name for the space. Nil if the space had none.
    public let name: String?
    /// Why the access ended.
    public let reason: EndedAccess.Reason
    /// The number of unsent rows that became rejections, with code `accessRevoked`.
    public let unsent: Int
}

extension Store {
    /// The spaces that end from now on: the person was removed or left, or the space was deleted.
    ///
    /// ```swift
    /// for await end in store.spaceEnds() { show("You can no longer use \(end.name ?? "a space").") }
    /// ```
    ///
    /// Each end arrives after the transaction that removes the rows. The stream has only what this process removes
    /// while the stream exists; ``Store/rejections()`` keeps the unsent rows in any case. It holds at most 100 ends that
    /// nobody has read, and drops the oldest of more. It ends when its consumer is cancelled.
    public func spaceEnds() -> AsyncStream<SpaceEnd> { ends.stream() }
}

/// Announces the ends of spaces.
final class SpaceEnds: Sendable {
    private struct State {
        var nextID = 0
        var listeners: [Int: AsyncStream<SpaceEnd>.Continuation] = [:]
    }

    private static let maxUnread = 100

    private let state = Mutex(State())

    func send(_ end: SpaceEnd) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(end) }
    }

    /// Announces an end as soon as the running transaction is durable.
    func send(_ end: SpaceEnd, after db: Database) { db.afterNextTransaction { _ in self.send(end) } }

    func stream() -> AsyncStream<SpaceEnd> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.maxUnread)) { continuation in
            let id = state.withLock { state in
                state.nextID += 1
                state.listeners[state.nextID] = continuation
                return state.nextID
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
            }
        }
    }
}
