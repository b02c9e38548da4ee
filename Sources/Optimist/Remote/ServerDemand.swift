// This source file is part of the Optimist open source project, under the MIT licence.

/// The longest pauses that a server can demand. A longer one counts as these, because the server may be wrong.
enum ServerDemand {
    /// Before the next request.
    static let ofRequests = Duration.seconds(3600)
    /// Before a row is sent again.
    static let ofRow = Duration.seconds(24 * 60 * 60)
}
