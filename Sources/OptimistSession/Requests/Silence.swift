// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Detects a silent body, because a dead connection often reports nothing.
///
/// Only the time that a read waits counts, not the time the reader spends on a chunk.
package final class Silence: Sendable {
    private struct State {
        var reads = 0
        var isReading = false
    }

    private let longest: Duration
    private let clock: any Clock<Duration>
    private let state = Mutex(State())

    package init(longest: Duration, clock: any Clock<Duration>) {
        self.longest = longest
        self.clock = clock
    }

    /// Runs work on a body, and cancels it when the body falls silent.
    ///
    /// - Throws: ``TransportError`` of kind `timedOut` after a silence; the errors of the work.
    package func watching<Result: Sendable>(
        _ body: ResponseBody, _ work: @escaping @Sendable (ResponseBody) async throws -> Result
    ) async throws -> Result {
        let heard = ResponseBody(HeardChunks(body: body, silence: self))
        return try await firstOf([{ try await work(heard) }, { try await self.watch() }])
    }

    /// Throws `timedOut` when a read has waited between one and two times the longest silence.
    private func watch() async throws -> Never {
        var seen: Int?
        while true {
            let read = state.withLock { $0.isReading ? $0.reads : nil }
            guard read == nil || read != seen else { throw TransportError(.timedOut, .responseStarted) }
            seen = read
            try await clock.sleep(for: longest)
        }
    }

    fileprivate func readBegins() {
        state.withLock { state in
            state.reads += 1
            state.isReading = true
        }
    }

    fileprivate func readEnds() { state.withLock { $0.isReading = false } }
}

/// A body that records its reads.
private struct HeardChunks: AsyncSequence, Sendable {
    let body: ResponseBody
    let silence: Silence

    func makeAsyncIterator() -> Iterator { Iterator(base: body.makeAsyncIterator(), silence: silence) }

    struct Iterator: AsyncIteratorProtocol {
        var base: ResponseBody.AsyncIterator
        let silence: Silence

        mutating func next() async throws -> [UInt8]? {
            silence.readBegins()
            defer { silence.readEnds() }
            return try await base.next()
        }
    }
}
