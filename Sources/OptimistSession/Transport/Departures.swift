// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import OptimistCore

    /// Tracks which requests have been written to a connection. The library's errors do not reveal this: for example,
    /// its deadline may expire before there is a connection.
    ///
    /// A request carries its id in a header field, which ``WireWatch`` removes just before the request is written.
    final class Departures: Sendable {
        static let field = "optimist-departure"

        private struct State {
            var last = 0
            /// The requests not yet written.
            var waiting: Set<Int> = []
        }

        private let state = Mutex(State())

        func begin() -> Int {
            state.withLock { state in
                state.last += 1
                state.waiting.insert(state.last)
                return state.last
            }
        }

        /// The request's head was written to a connection.
        func leaves(_ departure: Int) { state.withLock { _ = $0.waiting.remove(departure) } }

        func hasLeft(_ departure: Int) -> Bool { state.withLock { !$0.waiting.contains(departure) } }

        /// The request has ended, or its answer has begun.
        func end(_ departure: Int) { leaves(departure) }
    }
#endif
