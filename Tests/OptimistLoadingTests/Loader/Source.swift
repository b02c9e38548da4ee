// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting

@testable import OptimistCore
@testable import OptimistLoading

/// A source whose answers the test controls, and its loader.
final class Source: Sendable {
    private struct State {
        var waiting: [String: CheckedContinuation<Fetched<Int>, any Error>] = [:]
        var formers: [String: Validity] = [:]
        var fetches: [String: Fetch<String, Int>] = [:]
        var begun: [String] = []
        var cancelled: [String] = []
    }

    private let state = Mutex(State())
    private let beginnings: AsyncStream<String>
    private let began: AsyncStream<String>.Continuation
    private let endings: AsyncStream<String>
    private let ended: AsyncStream<String>.Continuation

    init() {
        (beginnings, began) = AsyncStream.makeStream()
        (endings, ended) = AsyncStream.makeStream()
    }

    /// The fetched keys, in the order in which their fetches began.
    var begun: [String] { state.withLock { $0.begun } }
    var cancelled: [String] { state.withLock { $0.cancelled } }

    func former(_ key: String) -> Validity? { state.withLock { $0.formers[key] } }

    func fetch(_ fetch: Fetch<String, Int>) async throws -> Fetched<Int> {
        let key = fetch.key
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Read once: a cancellation between two reads would end the fetch twice.
                let isCancelled = state.withLock { state in
                    let isCancelled = Task.isCancelled
                    state.begun.append(key)
                    state.formers[key] = fetch.previous
                    state.fetches[key] = fetch
                    if !isCancelled { state.waiting[key] = continuation }
                    return isCancelled
                }
                began.yield(key)
                if isCancelled { cancel(key, continuation) }
            }
        } onCancel: {
            if let continuation = state.withLock({ $0.waiting.removeValue(forKey: key) }) { cancel(key, continuation) }
        }
    }

    private func cancel(_ key: String, _ continuation: CheckedContinuation<Fetched<Int>, any Error>) {
        state.withLock { $0.cancelled.append(key) }
        continuation.resume(throwing: CancellationError())
        ended.yield(key)
    }

    /// Waits until `count` more fetches have begun.
    @discardableResult
    func begin(_ count: Int = 1) async -> [String] {
        var keys: [String] = []
        for await key in beginnings.prefix(count) { keys.append(key) }
        return keys
    }

    /// Waits until a fetch is cancelled.
    func cancellation() async -> String? { await endings.first { _ in true } }

    func answer(_ key: String, _ value: Int, _ validity: Validity = Validity()) {
        answer(key, .success(Fetched(value, validity: validity)))
    }

    func answer(_ key: String, _ result: Result<Fetched<Int>, any Error>) {
        state.withLock { $0.waiting.removeValue(forKey: key) }?.resume(with: result)
    }

    func report(_ key: String, _ progress: Double) { state.withLock { $0.fetches[key] }?.report(progress) }
    func show(_ key: String, _ partial: Int) { state.withLock { $0.fetches[key] }?.show(partial) }
}

/// A subscriber that records its events.
final class Listener: Sendable {
    private let events: AsyncStream<String>
    let ticket: LoadSubscription

    init(
        _ loader: Loader<String, Int>, _ key: String, _ priority: LoadPriority = .visible,
        _ freshness: Freshness = .cached
    ) {
        let (events, told) = AsyncStream<String>.makeStream()
        self.events = events
        ticket = loader.subscribe(key, priority: priority, freshness: freshness) { event in
            switch event {
            case .progress(let progress): told.yield("progress \(progress)")
            case .partial(let value): told.yield("partial \(value)")
            case .value(let value, let origin): told.yield("\(value) from \(origin)")
            case .failure(let error): told.yield("\(error)")
            }
        }
    }

    /// Waits for the next event.
    func next() async -> String? { await events.first { _ in true } }
}

struct Broken: Error, CustomStringConvertible {
    var description: String { "broken" }
}

/// A loader with its source and a manual clock.
struct Desk {
    let source = Source()
    let clock = ManualClock()
    let loader: Loader<String, Int>

    init(
        _ limits: LoaderLimits = LoaderLimits(), pause: Duration? = nil,
        disk: DiskTier<String, Int>? = nil
    ) {
        let source = source
        let clock = clock
        loader = Loader(
            limits: limits, disk: disk, failureTTL: { _ in pause },
            dependencies: Dependencies(
                clock: clock, now: { Date(timeIntervalSince1970: 1_000 + clock.elapsed / .seconds(1)) })
        ) { try await source.fetch($0) }
    }

    /// Waits until the condition holds.
    func settled(_ isSo: (LoaderState<String, Int>) -> Bool) async {
        while !loader.inspect(isSo) { await Task.yield() }
    }

    /// Waits for a sleeper and advances the clock.
    func pass(_ duration: Duration) async {
        await clock.sleepers(atLeast: 1)
        clock.advance(by: duration)
    }
}
