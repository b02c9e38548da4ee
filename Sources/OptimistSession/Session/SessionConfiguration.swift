// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// How a session behaves, and how it reads its server's answers.
public struct SessionConfiguration: Sendable {
    /// What the person calls this device, as other devices of theirs show it.
    public var deviceName: String
    /// The most requests on the wire at a time. Streams are not counted. Default: 6.
    public var slots: Int
    /// When new tokens are asked for again after that failed.
    public var refreshBackoff: Backoff
    /// When a request is sent again.
    public var retryBackoff: Backoff
    /// What the server's answers mean for the session.
    public var answers: AnswerTable
    public var endpoints: Endpoints
    /// Whether the session may use plain http to an address that is in the device's own network: a private or link-local
    /// address, or a name ending in `.local`. Everywhere else plain http stays refused. Default: no.
    ///
    /// For development only, with a phone and a server on one network: whoever is in that network can read the password
    /// and the tokens. Set it in debug builds, `#if DEBUG`.
    public var allowsPlainHTTPToPrivateAddresses: Bool

    public init(
        deviceName: String = SessionConfiguration.systemName, slots: Int = 6, refreshBackoff: Backoff = Backoff(),
        retryBackoff: Backoff = Backoff(), answers: AnswerTable = .optimist, endpoints: Endpoints = Endpoints(),
        allowsPlainHTTPToPrivateAddresses: Bool = false
    ) {
        precondition(slots >= 1, "with no slot, nothing is ever sent")
        self.deviceName = deviceName
        self.slots = slots
        self.refreshBackoff = refreshBackoff
        self.retryBackoff = retryBackoff
        self.answers = answers
        self.endpoints = endpoints
        self.allowsPlainHTTPToPrivateAddresses = allowsPlainHTTPToPrivateAddresses
    }

    /// Where the server signs people in and out, relative to its address.
    public struct Endpoints: Sendable {
        public var signUp = "/auth/sign-up"
        public var signIn = "/auth/sign-in"
        public var token = "/auth/token"
        public var revoke = "/auth/revoke"
        /// The sessions of the account. One of them is below it, by its id.
        public var sessions = "/auth/sessions"
        public var password = "/auth/password"
        public var forgotPassword = "/auth/forgot-password"
        public var resetPassword = "/auth/reset-password"
        public var deleteAccount = "/auth/delete-account"

        public init() {}
    }

    /// The name of the operating system: the default device name, since it tells nothing about the person.
    public static let systemName: String = {
        #if os(iOS)
            "iOS"
        #elseif os(macOS)
            "macOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(visionOS)
            "visionOS"
        #else
            "Linux"
        #endif
    }()
}
