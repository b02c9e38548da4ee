// This source file is part of the Optimist open source project, under the MIT licence.

/// The longest waits that the engine accepts from a server. Longer waits are cut to these, because the server may be
/// wrong.
enum ServerDemand {
    /// Before the next request.
    static let ofRequests = Duration.seconds(3600)
    /// Before a row is resent.
    static let ofRow = Duration.seconds(24 * 60 * 60)
}
