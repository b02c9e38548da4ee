// This source file is part of the Optimist open source project, under the MIT licence.

struct Caller: Hashable, Sendable {
    /// As seen by the server or its proxy.
    var address: String
    var requestID: String?

    var throttleKey: String { AddressOwner.name(of: address) }
}
