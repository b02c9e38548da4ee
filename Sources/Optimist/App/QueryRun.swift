// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import GRDB
import Logging
import OptimistCore

/// One run of a live query. GRDB repeats the query after commits that may change its result. While the query fails, a
/// timer repeats it too, because some failures end without a commit.
final class QueryRun<Value: Sendable>: Sendable {
    private struct State {
        var observation: AnyDatabaseCancellable?
        var timer: Task<Void, Never>?
        var failures = 0
        var random: SplitMix64
        /// The last logged failure. Nil after a success.
        var logged: String?
        var hasEnded = false
    }

    private let store: Store
    private let fetch: @Sendable (Database) throws -> Value
    private let queue = DispatchQueue(label: "optimist.livequery")
    private let consumer: AsyncStream<Result<Value, any Error>>.Continuation
    private let state: Mutex<State>

    /// The results of a query, until the stream is dropped or its consumer is cancelled. Only the newest result is
    /// buffered.
    static func results(
        of fetch: @escaping @Sendable (Database) throws -> Value, in store: Store
    ) -> AsyncStream<Result<Value, any Error>> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { consumer in
            let run = QueryRun(fetch, store, consumer)
            consumer.onTermination = { _ in run.end() }
            run.observe()
        }
    }

    private init(
        _ fetch: @escaping @Sendable (Database) throws -> Value, _ store: Store,
        _ consumer: AsyncStream<Result<Value, any Error>>.Continuation
    ) {
        self.store = store
        self.fetch = fetch
        self.consumer = consumer
        state = Mutex(State(random: store.dependencies.randomness(for: "livequery.backoff")))
    }

    /// Starts or restarts the observation. If the query throws, the observation continues: GRDB tracks what the query
    /// read before it threw.
    private func observe() {
        let observation = ValueObservation.tracking { [fetch] db in Result { try fetch(db) } }.start(
            in: store.pool, scheduling: .async(onQueue: queue),
            onError: { [weak self] error in self?.take(.failure(error)) },
            onChange: { [weak self] result in self?.take(result) })
        let unused = state.withLock { state in
            if state.hasEnded { return observation as AnyDatabaseCancellable? }
            defer { state.observation = observation }
            return state.observation
        }
        unused?.cancel()
    }

    private func end() {
        let (observation, timer) = state.withLock { state in
            state.hasEnded = true
            defer { (state.observation, state.timer) = (nil, nil) }
            return (state.observation, state.timer)
        }
        observation?.cancel()
        timer?.cancel()
    }

    private func take(_ result: Result<Value, any Error>) {
        if store.isClosed { return }
        let (pause, isNews) = state.withLock { state -> (Duration?, Bool) in
            state.timer?.cancel()
            state.timer = nil
            guard case .failure(let error) = result else {
                (state.failures, state.logged) = (0, nil)
                return (nil, false)
            }
            state.failures += 1
            let words = error.withoutValues
            defer { state.logged = words }
            return (Backoff().delay(afterFailures: state.failures, using: &state.random), words != state.logged)
        }
        if isNews, case .failure(let error) = result {
            store.logger.error("query.failed", metadata: ["error": "\(error.withoutValues)"])
        }
        consumer.yield(result)
        if let pause { observe(after: pause) }
    }

    private func observe(after pause: Duration) {
        let clock = store.dependencies.clock
        let timer = store.dependencies.spawn { [weak self] in
            do { try await clock.sleep(for: pause) } catch { return }
            self?.observe()
        }
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.timer = timer }
            return state.hasEnded
        }
        if hasEnded { timer.cancel() }
    }
}
