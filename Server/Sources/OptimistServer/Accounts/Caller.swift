// This source file is part of the Optimist open source project, under the MIT licence.

/// The sender of a request about accounts: for the limits on attempts, and for the security log.
struct Caller: Hashable, Sendable {
    /// The address that the server saw, or that its proxy saw.
    var address: String
    /// What the request is called in the answer and in the log.
    var requestID: String?

    /// What the limits on attempts count by.
    var throttleKey: String { AddressOwner.name(of: address) }
}
