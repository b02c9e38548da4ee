// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistServing
import Synchronization

/// Limits how many reading connections a person uses at a time, so that the other connections stay free for other
/// people.
package final class ReadTurns: Sendable {
    private struct Line {
        var running = 0
        var waiting: [(id: Int, turn: CheckedContinuation<Void, any Error>)] = []
    }

    private struct State {
        var lines: [Reader: Line] = [:]
        var lastID = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter connections: A person may use half of them, and at least one.
    package init(connections: Int) { limit = max(1, connections / 2) }

    /// Runs `read` when the reader has a free turn.
    ///
    /// - Throws: The error of `read`, or `CancellationError` if the task is cancelled while it waits.
    package func run<Value: Sendable>(
        of reader: Reader, _ read: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await begin(reader)
        defer { end(reader) }
        return try await read()
    }

    var waitingCount: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.waiting.count } } }

    var runningCount: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.running } } }

    private func begin(_ reader: Reader) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (turn: CheckedContinuation<Void, any Error>) in
                let runsNow = state.withLock { state in
                    let mayRun = state.lines[reader, default: Line()].running < limit
                    if mayRun {
                        state.lines[reader, default: Line()].running += 1
                    } else {
                        state.lines[reader]?.waiting.append((id, turn))
                    }
                    return mayRun
                }
                if runsNow { return turn.resume() }
                // If the task was cancelled earlier, the handler below ran before the turn was added.
                if Task.isCancelled { leave(id, reader) }
            }
        } onCancel: {
            leave(id, reader)
        }
    }

    private func end(_ reader: Reader) {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard var line = state.lines[reader] else { return nil }
            let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst().turn
            if next == nil { line.running -= 1 }
            state.lines[reader] = line.running == 0 ? nil : line
            return next
        }
        next?.resume()
    }

    private func leave(_ id: Int, _ reader: Reader) {
        let turn = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard let index = state.lines[reader]?.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return state.lines[reader]?.waiting.remove(at: index).turn
        }
        turn?.resume(throwing: CancellationError())
    }
}
