// This source file is part of the Optimist open source project, under the MIT licence.

/// Whether a device has received everything since it last lost the server.
///
/// An answer counts only if nothing was lost after the device had asked: it does not tell what came later.
struct Contact: Sendable {
    private var losses = 0
    /// What `losses` was when the latest pull began.
    private var whenAsked = 0
    /// What `losses` was when the pull began that got the latest complete answer. Nil: there was none.
    private var whenComplete: Int?

    /// Whether this device has had everything that the server had at some time since the last loss.
    var isComplete: Bool { whenComplete == losses }

    /// The server could not be reached, or may not be.
    mutating func lost() { losses += 1 }
    mutating func asked() { whenAsked = losses }
    mutating func receivedAll() { whenComplete = whenAsked }
}
