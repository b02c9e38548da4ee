// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A clock that only a test advances. A test can also wait until tasks sleep on the clock.
public final class ManualClock: Clock, Sendable {
    public struct Instant: InstantProtocol {
        var offset: Duration
        public func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        public func duration(to other: Self) -> Duration { other.offset - offset }
        public static func < (a: Self, b: Self) -> Bool { a.offset < b.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: (deadline: Instant, wake: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [Int: (count: Int, wake: CheckedContinuation<Void, Never>)] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    /// Creates a clock at zero.
    public init() {}

    public var now: Instant { state.withLock { $0.now } }
    public let minimumResolution = Duration.zero

    /// The total time that the clock has been advanced.
    public var elapsed: Duration { now.offset }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = makeID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wake in fallAsleep(id, until: deadline, wake: wake) }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper?.wake
            }
            sleeper?.resume(throwing: CancellationError())
        }
    }

    private func makeID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Suspends until at least `count` tasks sleep on this clock, or the calling task is cancelled.
    public func sleepers(atLeast count: Int) async {
        let id = makeID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { wake in
                let isReady = state.withLock { state in
                    if state.cancelled.remove(id) != nil || state.sleepers.count >= count { return true }
                    state.watchers[id] = (count, wake)
                    return false
                }
                if isReady { wake.resume() }
            }
        } onCancel: {
            let watcher = state.withLock { state in
                let watcher = state.watchers.removeValue(forKey: id)
                if watcher == nil { state.cancelled.insert(id) }
                return watcher?.wake
            }
            watcher?.resume()
        }
    }

    /// The time until the next sleeper is due. Nil if no task sleeps.
    public var untilNextSleeper: Duration? {
        state.withLock { state in state.sleepers.values.map { state.now.duration(to: $0.deadline) }.min() }
    }

    /// Advances the clock and wakes every task whose deadline has passed, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.wake)
        }
        for wake in due { wake.resume() }
    }

    private enum Bedtime {
        case asleep(watchers: [CheckedContinuation<Void, Never>])
        case due, cancelled
    }

    private func fallAsleep(_ id: Int, until deadline: Instant, wake: CheckedContinuation<Void, any Error>) {
        let bedtime: Bedtime = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .cancelled }
            if deadline <= state.now { return .due }
            state.sleepers[id] = (deadline, wake)
            let count = state.sleepers.count
            let ready = state.watchers.filter { $0.value.count <= count }
            for id in ready.keys { state.watchers[id] = nil }
            return .asleep(watchers: ready.values.map(\.wake))
        }
        switch bedtime {
        case .asleep(let watchers): for watcher in watchers { watcher.resume() }
        case .due: wake.resume()
        case .cancelled: wake.resume(throwing: CancellationError())
        }
    }
}
