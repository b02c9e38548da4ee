// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// How a session behaves, and how it reads its server's answers.
public struct SessionConfiguration: Sendable {
    /// The device's name, as the user's other devices show it. Default: ``systemName``.
    public var deviceName: String
    /// The most requests on the wire at a time, from 1 on. Streams, downloads and uploads are not counted: they have
    /// connections of their own. Default: 6.
    public var slots: Int
    /// How long the session waits before it asks for new tokens again, after that failed. Default: 0.5 s, doubling to
    /// 60 s.
    public var refreshBackoff: Backoff
    /// How long the session waits before it sends a request again. Default: 0.5 s, doubling to 60 s.
    public var retryBackoff: Backoff
    /// What the server's answers mean for the session. Default: ``ResponseRules/optimist``.
    public var responseRules: ResponseRules
    /// Where the server signs users in and out. Default: the paths of Optimist's server.
    public var endpoints: Endpoints
    /// Whether the session may use plain HTTP to an address in the device's own network: a private or link-local
    /// address, or a name ending in `.local`. Everywhere else the session refuses plain HTTP. Default: false.
    ///
    /// For development only, with a phone and a server in one network: every machine in that network can read the
    /// password and the tokens. Set it in debug builds, `#if DEBUG`.
    public var allowsPlainHTTPToPrivateAddresses: Bool
    /// How tokens are renewed. Default: nil, by OAuth 2 at ``Endpoints/token``.
    public var refresh: RefreshExchange?

    /// Makes a configuration. Each property says its default. `slots` below 1 stops the program.
    public init(
        deviceName: String = SessionConfiguration.systemName, slots: Int = 6, refreshBackoff: Backoff = Backoff(),
        retryBackoff: Backoff = Backoff(), responseRules: ResponseRules = .optimist, endpoints: Endpoints = Endpoints(),
        allowsPlainHTTPToPrivateAddresses: Bool = false, refresh: RefreshExchange? = nil
    ) {
        precondition(slots >= 1, "with no slot, nothing is ever sent")
        self.deviceName = deviceName
        self.slots = slots
        self.refreshBackoff = refreshBackoff
        self.retryBackoff = retryBackoff
        self.responseRules = responseRules
        self.endpoints = endpoints
        self.allowsPlainHTTPToPrivateAddresses = allowsPlainHTTPToPrivateAddresses
        self.refresh = refresh
    }

    /// Where the server signs users in and out. Paths are relative to the server's address.
    public struct Endpoints: Sendable {
        /// Makes an account.
        public var signUp = "/auth/sign-up"
        /// Signs in with an address and a password.
        public var signIn = "/auth/sign-in"
        /// Exchanges a refresh token for new tokens, by RFC 6749 §6.
        public var token = "/auth/token"
        /// Ends the session at sign-out, by RFC 7009.
        public var revoke = "/auth/revoke"
        /// Lists the sessions of the account. Each is found below it, by its id.
        public var sessions = "/auth/sessions"
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

    /// The name of the operating system, such as `iOS`: the default device name, since it tells nothing about the user.
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
