// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes
public import Logging
public import OptimistCore

/// Authenticated HTTP with one server. It signs in, keeps the credentials fresh, and gives each request its token as
/// late as possible.
///
/// All methods are safe to call from any thread, concurrently. Creating a session does no I/O.
public final class Session: Sendable {
    /// The server's address. Request targets are resolved against it, and credentials are never sent elsewhere.
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

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - server: The scheme, host and port without a path. With any other address, each request fails with code
    ///     `badServerAddress`. The scheme must be https, or http on this machine. See also
    ///     ``SessionConfiguration/allowsPlainHTTPToPrivateAddresses``.
    ///   - transport: Sends the requests. Only the session retries.
    ///   - credentials: Stores the tokens and the installation id.
    ///   - configuration: The session's limits and the rules for the server's answers.
    ///   - reachability: Suggests when to retry requests that wait for a network. Default: the system's.
    ///   - dependencies: Time, ids and randomness.
    ///   - logger: Receives `debug` and `info` messages, without tokens or users' text.
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

    /// The current state.
    public var state: SessionState { core.states.value }

    /// The session's account, or nil while it is unknown or signed out.
    public var account: Account? { state.account }

    /// The current state, then each new one. The first access makes the session read its credentials.
    public var states: SessionStates {
        run(core.handle(.restore))
        return SessionStates(states: core.states)
    }

    /// Returns the id of this installation. It is created on first use and excluded from backups.
    ///
    /// - Throws: `OptimistError` if it can be neither read nor stored.
    public func installID() async throws -> UUID {
        try await vault.installID(storingIfMissing: dependencies.makeID())
    }

    /// Creates an account and signs in to it.
    ///
    /// - Parameters:
    ///   - email: The address to sign in with.
    ///   - password: At least 8 characters on Optimist's server.
    ///   - invitation: For a server that requires one. Default: none.
    /// - Throws: `OptimistError` with code `emailTaken`, `invalidEmail`, `weakPassword`, `commonPassword`,
    ///   `passwordIsAddress`, `invalidPassword`, `signUpClosed`, `invitationNeeded` or `invalidInvitation`, each with a
    ///   message to show; otherwise as ``signIn(email:password:)``. If a later server gives another reason,
    ///   `OptimistError.serverReason` has it.
    @discardableResult
    public func signUp(email: String, password: String, invitation: String? = nil) async throws -> Account {
        try await enter(
            by: configuration.endpoints.signUp, email: email, password: password, invitation: invitation)
    }

    /// Signs in. A previously signed-in user is signed out of this device with reason `replaced`.
    ///
    /// If it fails, or is cancelled before the answer arrives, nothing changes.
    ///
    /// - Throws: `OptimistError` with code `signInRefused` if the server does not accept the password, `signInFailed`
    ///   if its answer is unusable, `signInSuperseded` if a later sign-in or sign-out finished first;
    ///   ``TransportError`` if there was no answer; `CancellationError`.
    @discardableResult
    public func signIn(email: String, password: String) async throws -> Account {
        try await enter(by: configuration.endpoints.signIn, email: email, password: password)
    }

    /// Signs in with tokens from elsewhere: from OAuth, from Sign in with Apple through the server, or from an earlier
    /// version of the app. A previously signed-in user is signed out of this device with reason `replaced`.
    ///
    /// Sends no request. The session renews the tokens when they are about to expire, see
    /// ``SessionConfiguration/refresh``.
    ///
    /// - Parameter credentials: Tokens of this session's server.
    /// - Throws: `OptimistError` with code `foreignOrigin` if the tokens belong to another server, `signInSuperseded`
    ///   if a later sign-in or sign-out finished first; otherwise the errors of the credential store. On failure
    ///   nothing changes.
    public func adopt(_ credentials: Credentials) async throws {
        guard credentials.origin == Origin(server)?.description else { throw OptimistError.foreignCredentials }
        let epoch = core.reserveEpoch()
        let isSaved = try await vault.save(credentials, as: Stamp(epoch: epoch, generation: 1))
        run(core.handle(.signedIn(epoch: epoch, credentials)))
        guard isSaved, core.stamp.epoch == epoch else { throw OptimistError.signInSuperseded }
    }

    /// Signs out of this device immediately, without waiting for the network. Every request fails with the reason, and
    /// the credentials are erased. The session makes one attempt to revoke the token on the server.
    ///
    /// - Throws: `OptimistError` with code `credentialsUnwritable` if the credentials could not be erased. The session
    ///   has ended even then.
    public func signOut() async throws {
        try await leave()
    }

    /// Ends the session when the server has reported its end in another way, such as in an event stream.
    ///
    /// If this is called while consuming an answer of ``stream(_:idleTimeout:_:)``, it ends the session of that
    /// request, never a later one. A sign-in in progress continues.
    public func end(_ reason: SignOutReason) {
        run(core.handle(.ended(Self.consumed ?? core.stamp, reason)))
    }

    /// The stamp of the session whose stream the current task consumes.
    @TaskLocal static var consumed: Stamp?

    /// Sends a request with the session's credential and returns the complete answer, whatever its status.
    ///
    /// Waits while the credentials are being read or renewed, and while other requests use all slots. Cancellation
    /// returns immediately and does not affect other requests.
    ///
    /// - Returns: The last answer. An answer that ``SessionConfiguration/responseRules`` considers a refused token is
    ///   not returned; it is the error's cause, as a ``RefusedAnswer``.
    /// - Throws: `OptimistError` with code `signedOut` (see `OptimistError.signOutReason`), `credentialRefused`,
    ///   `refreshPostponed`, `credentialsLocked`, `badServerAddress`, `foreignOrigin` or `plaintextRefused`;
    ///   ``TransportError`` if no complete answer arrived; `CancellationError`. A ``SessionRequest/Urgency/background``
    ///   request waits instead of failing with `refreshPostponed`.
    public func send(_ request: SessionRequest) async throws -> SessionResponse {
        let (head, body) = try await call(request)
        return SessionResponse(head: head, body: body)
    }

    /// Sends a request with an endless answer, such as an event stream, and passes on the body as it arrives.
    ///
    /// A stream does not use a slot and has no deadline. The connection closes when `consume` returns or throws, when
    /// the calling task is cancelled, and when the session ends, which also cancels `consume`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - idleTimeout: The longest that a read of the body may wait; detection may take up to twice as long. A longer
    ///     wait throws ``TransportError`` of kind `timedOut`. The time between reads does not count. Default: no limit.
    ///   - consume: Receives the head and the body as it arrives. The body of an unsuccessful answer is read first,
    ///     with silence limited to `idleTimeout` or ``SessionRequest/headTimeout``. It is empty if it falls silent,
    ///     breaks off or is too large.
    /// - Throws: As ``send(_:)``, and the errors of `consume`.
    public func stream<Result: Sendable>(
        _ request: SessionRequest, idleTimeout: Duration? = nil,
        _ consume: @escaping @Sendable (HTTPResponse, ResponseBody) async throws -> Result
    ) async throws -> Result {
        try await openStream(request, idleTimeout: idleTimeout, consume)
    }
}
