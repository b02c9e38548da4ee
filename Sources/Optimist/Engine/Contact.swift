// This source file is part of the Optimist open source project, under the MIT licence.

/// Whether a device has received everything since it last lost the server.
///
/// If the server was lost after the request began, the answer does not count, because it lacks later changes.
struct Contact: Sendable {
    private var losses = 0
    /// The number of losses when the latest pull began.
    private var whenAsked = 0
    /// The number of losses when the pull of the latest complete answer began.
    private var whenComplete: Int?

    var isComplete: Bool { whenComplete == losses }

    /// The server cannot be reached, or may be unreachable.
    mutating func lost() { losses += 1 }
    mutating func asked() { whenAsked = losses }
    mutating func receivedAll() { whenComplete = whenAsked }
}
