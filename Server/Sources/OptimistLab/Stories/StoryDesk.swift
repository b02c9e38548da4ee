// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
import Synchronization

/// Plays the stories on request, one run at a time.
final class StoryDesk: Sendable {
    private struct State {
        var figures: [StoryFigure] = []
        var playing: Task<Void, Never>?
        var problem: String?
    }

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Sorted by measure, then by network.
    var figures: [StoryFigure] {
        let figures = state.withLock { $0.figures }
        return StoryFigure.Measure.allCases.flatMap { measure in figures.filter { $0.measure == measure } }
    }

    var isPlaying: Bool { state.withLock { $0.playing != nil } }
    var problem: String? { state.withLock { $0.problem } }

    /// - Throws: `OptimistError` with code `badLabRequest` while the stories are being played.
    func play() throws {
        try state.withLock { state in
            guard state.playing == nil else {
                throw OptimistError(.badLabRequest, "The stories are already playing.")
            }
            state = State()
            // Unstructured, because the run outlives the request.
            state.playing = Task { await run() }
        }
    }

    func end() async {
        let playing = state.withLock { $0.playing }
        playing?.cancel()
        await playing?.value
    }

    private func run() async {
        do {
            try await StoryBench(logger: logger).run { figure in self.state.withLock { $0.figures.append(figure) } }
        } catch {
            let problem = (error as? OptimistError)?.message ?? "The stories were stopped."
            state.withLock { $0.problem = problem }
        }
        state.withLock { $0.playing = nil }
    }
}
