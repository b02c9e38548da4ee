// This source file is part of the Optimist open source project, under the MIT licence.

/// The sender of a request about accounts, for limits on attempts and the security log.
struct Caller: Hashable, Sendable {
    /// The client's address, as seen by the server or its proxy.
    var address: String
    /// The request's id in the answer and the log.
    var requestID: String?

    /// The key for limits on attempts.
    var throttleKey: String { AddressOwner.name(of: address) }
}
