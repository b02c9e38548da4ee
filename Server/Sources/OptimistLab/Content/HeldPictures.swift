// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Holds back pictures on the server, to show which requests wait for them.
final class HeldPictures: Sendable {
    /// The timeout of a picture request. It is long, because a person may hold a picture for any time.
    static let patience = Duration.seconds(3_600)

    private struct State {
        var toCome = 0
        var names: Set<String> = []
        var waiting: [(name: String, request: CheckedContinuation<Void, Never>)] = []
        var isOver = false
    }

    private let state = Mutex(State())

    /// The number of pictures still to hold, and the number of held requests.
    var counts: (toCome: Int, held: Int) {
        state.withLock { state in
            (state.toCome + state.names.subtracting(state.waiting.map(\.name)).count, state.waiting.count)
        }
    }

    /// Holds the next `count` requests. Zero releases all held requests.
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

    /// Holds all requests for one picture of a pose or an author.
    func hold(_ name: String) { _ = state.withLock { $0.names.insert(name) } }

    /// Releases all requests, including future ones.
    func end() {
        state.withLock { $0.isOver = true }
        hold(next: 0)
    }

    /// Waits while the picture is held.
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
