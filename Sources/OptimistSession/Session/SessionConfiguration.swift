// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// A session's settings, and the rules for its server's answers.
public struct SessionConfiguration: Sendable {
    /// The device's name, shown on the user's other devices. Default: ``systemName``.
    public var deviceName: String
    /// The maximum number of concurrent requests, at least 1. Streams, downloads and uploads use separate connections
    /// and do not count. Default: 6.
    public var slots: Int
    /// The delays between failed token refreshes. Default: 0.5 s, doubling to 60 s.
    public var refreshBackoff: Backoff
    /// The delays between attempts of a request. Default: 0.5 s, doubling to 60 s.
    public var retryBackoff: Backoff
    /// How to interpret the server's answers. Default: ``ResponseRules/optimist``.
    public var responseRules: ResponseRules
    /// The server's account endpoints. Default: the paths of Optimist's server.
    public var endpoints: Endpoints
    /// Whether the session may use plain HTTP in the local network: to private or link-local addresses, and to names
    /// ending in `.local`. It refuses plain HTTP to all other remote addresses. Default: false.
    ///
    /// For development only, with a phone and a server on the same network: every machine on the network can read the
    /// password and the tokens. Set it only in debug builds, `#if DEBUG`.
    public var allowsPlainHTTPToPrivateAddresses: Bool
    /// How to renew tokens. Default: nil, OAuth 2 at ``Endpoints/token``.
    public var refresh: RefreshExchange?

    /// Makes a configuration. Each property documents its default. `slots` below 1 traps.
    public init(
        deviceName: String = SessionConfiguration.systemName, slots: Int = 6, refreshBackoff: Backoff = Backoff(),
        retryBackoff: Backoff = Backoff(), responseRules: ResponseRules = .optimist, endpoints: Endpoints = Endpoints(),
        allowsPlainHTTPToPrivateAddresses: Bool = false, refresh: RefreshExchange? = nil
    ) {
        precondition(slots >= 1, "a session needs at least one slot")
        self.deviceName = deviceName
        self.slots = slots
        self.refreshBackoff = refreshBackoff
        self.retryBackoff = retryBackoff
        self.responseRules = responseRules
        self.endpoints = endpoints
        self.allowsPlainHTTPToPrivateAddresses = allowsPlainHTTPToPrivateAddresses
        self.refresh = refresh
    }

    /// The server's account endpoints, as paths relative to the server's address.
    public struct Endpoints: Sendable {
        /// Creates an account.
        public var signUp = "/auth/sign-up"
        /// Signs in with an address and a password.
        public var signIn = "/auth/sign-in"
        /// Exchanges a refresh token (RFC 6749, section 6) or an identity token (RFC 8693) for new tokens.
        public var token = "/auth/token"
        /// Ends the session at sign-out (RFC 7009).
        public var revoke = "/auth/revoke"
        /// Lists the account's sessions. The path of each session is this path followed by the session's id.
        public var sessions = "/auth/sessions"
        /// Lists and adds the account's identities. The path that removes one is this path followed by the identity's
        /// id and `/remove`.
        public var identities = "/auth/identities"
        /// Changes the password.
        public var password = "/auth/password"
        /// Sends the user a reset token.
        public var forgotPassword = "/auth/forgot-password"
        /// Exchanges a reset token for a new password.
        public var resetPassword = "/auth/reset-password"
        /// Deletes the account.
        public var deleteAccount = "/auth/delete-account"

        /// Makes the paths of Optimist's server.
        public init() {}
    }

    /// The name of the operating system, such as `iOS`. It is the default device name because it does not identify the
    /// user.
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
