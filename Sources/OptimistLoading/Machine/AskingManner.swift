// This source file is part of the Optimist open source project, under the MIT licence.

/// Further options of a request.
@usableFromInline
struct AskingManner: Sendable {
    var outlives = false
    /// Whether the user retries. A paused error is then ignored.
    var isRetry = false
    /// The flight of the fetch that waits for the value. Nil if the caller is not a fetch.
    var asker: FlightID?

    @usableFromInline
    init(outlives: Bool = false, isRetry: Bool = false, asker: FlightID? = nil) {
        self.outlives = outlives
        self.isRetry = isRetry
        self.asker = asker
    }
}
