// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
public import GRDB
import OptimistCore

extension Store {
    /// Watches a query: emits its result now, and again whenever a committed transaction has changed it.
    ///
    /// Each state is a whole committed one. There is at most one state for each transaction, and two consecutive states are
    /// never equal. A slow consumer skips states; the last one always arrives. A database error does not end the sequence: the
    /// query starts again after a backoff. The sequence ends when its task is cancelled.
    ///
    /// - Parameter fetch: Runs on a reading thread, never on the caller's. If it throws, the query starts again after a
    ///   backoff.
    public func observe<T: Equatable & Sendable>(_ fetch: @escaping @Sendable (Database) throws -> T) -> QueryStates<T>
    {
        QueryStates(store: self, fetch: fetch)
    }
}

/// The states of a query. A slow consumer gets only the newest.
public struct QueryStates<Element: Equatable & Sendable>: AsyncSequence, Sendable {
    /// The sequence never throws.
    public typealias Failure = Never

    let store: Store
    let fetch: @Sendable (Database) throws -> Element

    public func makeAsyncIterator() -> Iterator { Iterator(query: self) }

    /// One run of the query. Each `for await` makes its own.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: QueryStates
        private var states: AsyncThrowingStream<Element, any Error>?
        private var last: Element?
        private var failures = 0
        private var random: SplitMix64

        init(query: QueryStates) {
            self.query = query
            random = query.store.surroundings.randomness(for: "livequery.backoff")
        }

        public mutating func next() async -> Element? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while !Task.isCancelled, !query.store.isClosed {
                do {
                    let states = self.states ?? query.states()
                    self.states = states
                    var iterator = states.makeAsyncIterator()
                    guard let state = try await iterator.next() else { return nil }
                    failures = 0
                    if state == last { continue }
                    last = state
                    return state
                } catch {
                    states = nil
                    failures += 1
                    let pause = Backoff().delay(afterFailures: failures, using: &random)
                    try? await query.store.surroundings.clock.sleep(for: pause)
                }
            }
            return nil
        }
    }

    /// One run of the query, which ends at its first error.
    private func states() -> AsyncThrowingStream<Element, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let observation = ValueObservation.tracking(fetch).start(
                in: store.pool, scheduling: .async(onQueue: DispatchQueue(label: "optimist.livequery")),
                onError: { continuation.finish(throwing: $0) }, onChange: { continuation.yield($0) })
            continuation.onTermination = { _ in observation.cancel() }
        }
    }
}
