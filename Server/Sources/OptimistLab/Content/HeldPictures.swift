// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Pictures that the lab's server is told not to answer, so that one can see what else waits for them.
final class HeldPictures: Sendable {
    /// How long a request for a picture waits, since a person may hold it for as long as they like.
    static let patience = Duration.seconds(3_600)

    private struct State {
        var toCome = 0
        var names: Set<String> = []
        var waiting: [(name: String, request: CheckedContinuation<Void, Never>)] = []
        var isOver = false
    }

    private let state = Mutex(State())

    /// How many pictures have yet to be held, and how many requests are.
    var counts: (toCome: Int, held: Int) {
        state.withLock { state in
            (state.toCome + state.names.subtracting(state.waiting.map(\.name)).count, state.waiting.count)
        }
    }

    /// Holds so many of the requests to come. Zero lets all go that are held.
    func hold(next count: Int) {
        let released = state.withLock { state in
            state.toCome = count
            if count == 0 { state.names = [] }
            if count > 0 { return [] as [CheckedContinuation<Void, Never>] }
            defer { state.waiting = [] }
            return state.waiting.map(\.request)
        }
        for one in released { one.resume() }
    }

    /// Holds every request for one picture, until all are let go.
    ///
    /// - Parameter name: The id of a pose or of an author.
    func hold(_ name: String) { _ = state.withLock { $0.names.insert(name) } }

    /// Lets all go, now and from now on.
    func end() {
        state.withLock { $0.isOver = true }
        hold(next: 0)
    }

    /// Waits as long as a picture is held, which most are not.
    func pass(_ name: String) async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                guard !state.isOver else { return false }
                if !state.names.contains(name) {
                    guard state.toCome > 0 else { return false }
                    state.toCome -= 1
                }
                state.waiting.append((name, continuation))
                return true
            }
            if !isHeld { continuation.resume() }
        }
    }
}
