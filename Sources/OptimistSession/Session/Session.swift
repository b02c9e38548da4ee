// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes
public import Logging
public import OptimistCore

/// Authenticated HTTP with one server: it signs in, keeps the credentials fresh, and gives each request its token as
/// late as possible.
///
/// Every method may be called from anywhere, any number of times at once. Making a session reads and sends nothing.
public final class Session: Sendable {
    /// The server's address. Targets of requests are resolved against it, and credentials go nowhere else.
    public let server: URL

    let address: ServerAddress
    let transport: any Transport
    package let dependencies: Dependencies
    let configuration: SessionConfiguration
    let logger: Logger
    let vault: Vault
    let core: SessionCore
    let patience: Mutex<Patience>
    let serverTime: ServerTime
    let network: NetworkChanges
    let deadlines: Deadlines

    /// - Parameters:
    ///   - server: Scheme, host and port, without a path: any other address is an error of each request, with code
    ///     `badServerAddress`. Must be https, or on this machine. See also
    ///     ``SessionConfiguration/allowsPlainHTTPToPrivateAddresses``.
    ///   - transport: Carries the requests. The session alone decides what is sent again.
    ///   - credentials: Where tokens and the id of the installation are kept.
    ///   - configuration: How many requests at a time, and how to read the server's answers.
    ///   - reachability: A hint of when to try again what waits for a network. Default: the system's.
    ///   - dependencies: Time, ids and chance.
    ///   - logger: Gets `debug` lines, without tokens and without what people wrote.
    public init(
        server: URL, transport: any Transport, credentials: any CredentialStore,
        configuration: SessionConfiguration = SessionConfiguration(), reachability: (any Reachability)? = nil,
        dependencies: Dependencies = Dependencies(), logger: Logger = Logger(label: "optimist.session")
    ) {
        self.server = server
        address = ServerAddress(
            server, allowsPlainHTTPToPrivateAddresses: configuration.allowsPlainHTTPToPrivateAddresses)
        self.transport = transport
        self.configuration = configuration
        self.dependencies = dependencies
        self.logger = logger
        network = NetworkChanges(reachability ?? SystemReachability(), dependencies)
        deadlines = Deadlines(dependencies)
        vault = Vault(credentials)
        let serverTime = ServerTime(dependencies)
        self.serverTime = serverTime
        core = SessionCore(
            SessionMachine(
                slots: configuration.slots, backoff: configuration.refreshBackoff,
                randomness: dependencies.randomness(for: "session.refresh")),
            now: { serverTime.now })
        patience = Mutex(
            Patience(backoff: configuration.retryBackoff, randomness: dependencies.randomness(for: "session.retry")))
    }

    /// Where the session stands at this moment.
    public var state: SessionState { core.states.value }

    /// Whose session it is, or nil while that is not known.
    public var account: Account? { state.account }

    /// The state of the moment, and then each newest one. The first who asks makes the session read its credentials.
    public var states: SessionStates {
        run(core.handle(.restore))
        return SessionStates(states: core.states)
    }

    /// Returns the id of this installation, which is made at first use and kept outside backups (T6).
    ///
    /// - Throws: `OptimistError` when it can be neither read nor kept.
    public func installID() async throws -> UUID {
        try await vault.installID(storingIfMissing: dependencies.makeID())
    }

    /// Makes an account and signs in to it.
    ///
    /// - Parameters:
    ///   - email: What the account is signed in to with from now on.
    ///   - password: At least 8 characters on Optimist's server.
    ///   - invitation: For a server that asks for one. Default: none.
    /// - Throws: `OptimistError` with code `emailTaken`, `invalidEmail`, `weakPassword`, `commonPassword`,
    ///   `passwordIsAddress`, `invalidPassword`, `signUpClosed`, `invitationNeeded` or `invalidInvitation`, each with a
    ///   sentence to show; else as ``signIn(email:password:)``. See `OptimistError.serverReason` for reasons of a later server.
    @discardableResult
    public func signUp(email: String, password: String, invitation: String? = nil) async throws -> Account {
        try await enter(
            by: configuration.endpoints.signUp, email: email, password: password, invitation: invitation)
    }

    /// Signs in. A user who was signed in before is signed out of this device, with reason `replaced`.
    ///
    /// Nothing changes if it fails, or if it is cancelled before the answer is there.
    ///
    /// - Throws: `OptimistError` with code `signInRefused` when the server does not accept the password,
    ///   `signInFailed` when its answer is of no use, `signInSuperseded` when a later sign-in or sign-out came first;
    ///   ``TransportError`` when there was no answer; `CancellationError`.
    @discardableResult
    public func signIn(email: String, password: String) async throws -> Account {
        try await enter(by: configuration.endpoints.signIn, email: email, password: password)
    }

    /// Signs in with tokens that the app has from elsewhere: from OAuth, from Sign in with Apple by way of the server, or from
    /// an earlier version of the app. A user who was signed in before is signed out of this device, with reason `replaced`.
    ///
    /// Nothing is sent. The session renews the tokens when they are about to expire: see
    /// ``SessionConfiguration/refresh``.
    ///
    /// - Parameter credentials: Tokens of this session's server.
    /// - Throws: `OptimistError` with code `foreignOrigin` if they are another server's, `signInSuperseded` when a later sign-in or
    ///   sign-out came first, or as the credential store throws. Nothing changes then.
    public func adopt(_ credentials: Credentials) async throws {
        guard credentials.origin == Origin(server)?.description else { throw OptimistError.foreignCredentials }
        let epoch = core.reserveEpoch()
        let isSaved = try await vault.save(credentials, as: Stamp(epoch: epoch, generation: 1))
        run(core.handle(.signedIn(epoch: epoch, credentials)))
        guard isSaved, core.stamp.epoch == epoch else { throw OptimistError.signInSuperseded }
    }

    /// Signs out of this device at once, without waiting for the network: every request fails with the reason, and the
    /// credentials are erased. The server is told when that is possible.
    ///
    /// - Throws: `OptimistError` with code `credentialsUnwritable` when the credentials could not be erased. The
    ///   session has ended all the same.
    public func signOut() async throws {
        try await leave()
    }

    /// Ends the session because the server said so by another way, such as an event stream.
    ///
    /// Called while an answer of ``stream(_:idleTimeout:_:)`` is consumed, it ends the session which that request
    /// belongs to, and no later one. A sign-in that is under way goes on.
    public func end(_ reason: SignOutReason) {
        run(core.handle(.ended(Self.consumed ?? core.stamp, reason)))
    }

    /// The life of the session whose stream the current task consumes.
    @TaskLocal static var consumed: Stamp?

    /// Sends a request with the session's credential and returns the whole answer, whatever its status.
    ///
    /// It waits while the credentials are read or renewed, and while other requests fill the slots. Cancelling returns
    /// at once and disturbs no other request (T8).
    ///
    /// - Returns: The last answer. None that ``SessionConfiguration/responseRules`` takes for a refused token is returned: it is
    ///   the cause of the error, as a ``RefusedAnswer``.
    /// - Throws: `OptimistError` with code `signedOut` (see `OptimistError.signOutReason`),
    ///   `credentialRefused`, `refreshPostponed`, `credentialsLocked`, `badServerAddress`, `foreignOrigin` or
    ///   `plaintextRefused`; ``TransportError`` when no whole answer came; `CancellationError`. A request of ``SessionRequest/Urgency/background``
    ///   is never `refreshPostponed`: it waits.
    public func send(_ request: SessionRequest) async throws -> SessionResponse {
        let (head, body) = try await call(request)
        return SessionResponse(head: head, body: body)
    }

    /// Sends a request whose answer has no end, such as an event stream, and hands it over as it comes.
    ///
    /// It takes none of the slots and has no deadline. The connection is closed when `consume` returns or throws, when
    /// the calling task is cancelled, and when the session ends, which also cancels `consume`.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - idleTimeout: The longest that a read of the body waits, up to twice that. Past it, the call throws
    ///     ``TransportError`` of kind `timedOut`. The time between two reads does not count. Default: any.
    ///   - consume: Gets the head of the answer and the body as it comes. An answer without success comes whole, or with an
    ///     empty body if its own falls silent, breaks off or is too large. Its longest silence is `idleTimeout`, or
    ///     ``SessionRequest/headTimeout`` without one.
    /// - Throws: As ``send(_:)``, and whatever `consume` throws.
    public func stream<Result: Sendable>(
        _ request: SessionRequest, idleTimeout: Duration? = nil,
        _ consume: @escaping @Sendable (HTTPResponse, ResponseBody) async throws -> Result
    ) async throws -> Result {
        try await openStream(request, idleTimeout: idleTimeout, consume)
    }
}
