// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Watches a stream for silence: a connection that is dead often says nothing at all.
final class Silence: Sendable {
    private let longest: Duration
    private let clock: any Clock<Duration>
    private let chunks = Mutex(0)

    init(longest: Duration, clock: any Clock<Duration>) {
        self.longest = longest
        self.clock = clock
    }

    func listening(to body: ResponseBody) -> ResponseBody {
        ResponseBody(
            body.map { chunk in
                self.chunks.withLock { $0 += 1 }
                return chunk
            })
    }

    /// Throws `timedOut` when nothing has come for between one and two times the longest silence.
    func watch() async throws -> Never {
        var heard = -1
        while true {
            let count = chunks.withLock { $0 }
            guard count != heard else { throw TransportError(.timedOut, .responseStarted) }
            heard = count
            try await clock.sleep(for: longest)
        }
    }
}
