// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

extension Store {
    /// Observes a query: emits its result now, and again after each committed transaction that changes it.
    ///
    /// Each result reflects one committed state. There is at most one state per transaction, and consecutive states are
    /// never equal. A slow consumer skips states, but always gets the last state. The sequence ends when its task is
    /// cancelled.
    ///
    /// A failure is also a state, for example when this app cannot decode a newer app's value: ``QueryState/failure``
    /// says why, and ``QueryState/value`` is the last result. The store logs each failure once, without user data. A
    /// failed query runs again after commits that may change its result, and with a backoff from 0.5 s to 60 s.
    ///
    /// - Parameter fetch: Runs on a reader thread, never on the caller's. A thrown error becomes the state's failure.
    public func observe<Value: Equatable & Sendable>(
        _ fetch: @escaping @Sendable (Database) throws -> Value
    ) -> QueryStates<Value> {
        QueryStates(store: self, fetch: fetch)
    }
}

/// The results and failures of a query.
public struct QueryStates<Value: Equatable & Sendable>: AsyncSequence, Sendable {
    /// A state of the query.
    public typealias Element = QueryState<Value>
    /// The sequence never throws: a failure is a state.
    public typealias Failure = Never

    let store: Store
    let fetch: @Sendable (Database) throws -> Value

    public func makeAsyncIterator() -> Iterator { Iterator(query: self) }

    /// One run of the query. Each `for await` starts a run.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: QueryStates
        private var results: AsyncStream<Result<Value, any Error>>?
        private var history = QueryHistory<Value>()

        init(query: QueryStates) { self.query = query }

        public mutating func next() async -> QueryState<Value>? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> QueryState<Value>? {
            let results = self.results ?? QueryRun.results(of: query.fetch, in: query.store)
            self.results = results
            var iterator = results.makeAsyncIterator()
            while !query.store.isClosed, let result = await iterator.next() {
                if let state = history.state(after: result) { return state }
            }
            return nil
        }
    }
}
