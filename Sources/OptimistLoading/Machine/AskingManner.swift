// This source file is part of the Optimist open source project, under the MIT licence.

/// How a value is asked for, beside how soon and how fresh.
@usableFromInline
struct AskingManner: Sendable {
    /// Whether a flight that this begins or joins goes on when it has no holder left.
    var outlives = false
    /// A person asks again: the error of a pause is no answer.
    var isRetry = false
    /// The flight of the fetch that waits for the value. Nil: no fetch waits.
    var asker: FlightID?

    @usableFromInline
    init(outlives: Bool = false, isRetry: Bool = false, asker: FlightID? = nil) {
        self.outlives = outlives
        self.isRetry = isRetry
        self.asker = asker
    }
}
