// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
public import Foundation
public import Logging
public import OptimistCore
@_spi(Internals) public import OptimistServing
@_spi(Internals) public import OptimistWire

/// The settings of a server. The defaults suit a server on one machine.
public struct ServerConfiguration: Sendable {
    /// The address to listen on. Default: `127.0.0.1`, reachable from this machine only. For any other address, put a
    /// TLS proxy in front of the server.
    public var host: String
    /// The port. Zero chooses a free one, see ``OptimistServer/port``. Default: 8090.
    public var port: Int
    /// Where the data is: ``ServerStorage/directory(_:)``, or a database shared by several servers.
    public var storage: ServerStorage
    /// The types and columns of the rows.
    public var schema: Schema
    /// The changes since the previously served schema that may break apps or remove data, and that you accept. Default:
    /// none. The server refuses to start if the schema makes such a change that is not listed, or if a listed change is
    /// not in the schema.
    public var acceptedChanges: [SchemaChange]
    /// How long an access token is valid. Default: 15 minutes.
    public var accessTokenLifetime: Duration
    /// How long a device may stay away before its user must sign in again. Default: 60 days.
    public var refreshTokenLifetime: Duration
    /// Whether signing in on one device ends all other sessions of the account. Default: false.
    public var allowsOneDeviceOnly: Bool
    /// The app's row checks, the same as in its `Store`. The server refuses a row that fails, and the device shows a
    /// rejection with the check's code. Default: none.
    public var rowValidation: RowValidation
    /// Refuses or amends clients' writes within the transaction, see ``GroupHook``. The server logs why it deferred a
    /// group. Default: nil.
    public var hook: GroupHook?
    /// Receives every durable transaction of every account: at least once, in order within each account, also after a
    /// restart. Calls do not overlap, and only one process calls the closure at a time. If the closure throws, the
    /// server calls it again within 30 seconds, from the first transaction whose success is not recorded. A closure
    /// that is added to an existing server starts with the first transaction of each account. Default: nil.
    public var didApply: (@Sendable (AppliedTransaction) async throws -> Void)?
    /// Receivers of every durable transaction over HTTP. Default: none.
    public var webhooks: [Webhook]
    /// The people who may create an account. Default: ``SignUpMode/open``.
    public var signUp: SignUpMode
    /// The services whose users may sign in with an identity token. Default: none.
    public var identityProviders: [IdentityProvider]
    /// Whether people sign in with passwords, identity tokens, or both. Default: ``SignInMode/both``. Without a provider
    /// it is the same as ``SignInMode/password``. An account's identity still confirms its deletion.
    public var signIn: SignInMode
    /// Delivers a reset token to a user who forgot the password, for example by mail. Calls do not overlap, and errors
    /// are logged. Default: nil. `POST /auth/forgot-password` then answers that resets are not available; `optimist
    /// account reset` still creates tokens.
    public var deliverReset: (@Sendable (PasswordReset) async throws -> Void)?
    /// Whether your proxy is in front of the server. If true, the server trusts `X-Forwarded-For` and
    /// `X-Forwarded-Proto`. If it is false although the server is behind a proxy, all clients share one limit on
    /// attempts. Default: false.
    public var isBehindProxy: Bool
    /// The current time as an operator confirmed it, for a start after the clock leapt by more than a day. If this time
    /// is within a day and a half of the server's clock, the server trusts its clock and resumes sweeping. Default:
    /// nil.
    public var acceptedTime: Date?
    /// The origin at which clients reach the server, such as `https://sync.example.org`. URLs in answers begin with it.
    /// Default: taken from the request's `Host` and, behind a proxy, `X-Forwarded-Proto`.
    public var publicOrigin: String?
    /// The most connections that one address may have open. The server closes further connections. Behind a proxy this
    /// limit does not apply. Default: 512.
    public var connectionsPerAddress: Int
    /// The most memory for all requests and answers together, in bytes. 128 MB of it are for evaluating requests. The
    /// rest is for bodies and answers that wait for slow clients. When the rest is used up, the server refuses large
    /// requests with 503. If an account has no other request in memory, the server always accepts a small request. The
    /// limit must be at least 256 MB, a precondition when the server starts. Default: 512 MB.
    public var memoryLimit: Int
    /// How far a client may fall behind a reading speed of 8 KB/s before the server closes the connection. A client can
    /// therefore hold an answer for this long, plus a second for each 8 KB of the answer. Default: 120 s.
    public var readerPatience: Duration
    /// How many attempts to sign in or up an address may make in a burst. After that, one more every two seconds.
    /// Default: 60.
    public var signInBurstPerAddress: Int
    /// How many wrong passwords may be tried for an account in a burst. After that, one more every ten seconds.
    /// Default: 10.
    public var signInBurstPerAccount: Int
    /// How long a connection may be silent, and how long a request head may take. Default: 60 s.
    public var idleTimeout: Duration
    /// How long a request body may take. Default: 60 s.
    public var bodyTimeout: Duration
    /// How many days the server remembers a deleted row. A device that was away for longer compares all its rows.
    /// Default: 90.
    public var tombstoneDays: Int
    /// How many spaces, members, invitations and rows of spaces there may be. Default: as in `SpaceLimits`.
    public var spaceLimits: SpaceLimits
    /// What happens to a space with other members if its only owner's account is deleted. Default:
    /// ``OwnerlessSpaces/inherit``.
    public var ownerlessSpaces: OwnerlessSpaces
    /// A file made by `optimist gazetteer import`. The route `GET /places` answers from the file. Default: nil, and the
    /// route does not exist.
    public var gazetteer: URL?
    /// The app's own routes, in addition to the server's. Default: none.
    public var routes: [AppRoute]
    /// The operator's port on 127.0.0.1, with `/metrics` and the pages under `/admin`. Zero chooses a free one, see
    /// ``OptimistServer/adminPort``. Every user of this machine can read all data of the app's users there. Default:
    /// nil, no such port.
    public var adminPort: Int?
    /// Settings for the app's health reports, `POST /health/reports`. Default: nil, and the route does not exist.
    public var health: HealthSettings?
    /// The apps that open invitation links, and the page of a link for browsers. Default: nil, and these routes do not
    /// exist.
    public var joinPage: JoinPage?
    /// Time, ids, randomness and tasks. Secrets never use these. Default: the system's.
    public var dependencies: Dependencies
    /// Receives the server's log, which never contains tokens, passwords or user data. Default: labelled
    /// `optimist.server`.
    public var logger: Logger

    /// A monotonic clock. Tests advance it by hand. Nil uses the clock of the dependencies.
    var elapsed: (@Sendable () -> Duration)?
    /// How long one request may block all other writers.
    var workBudget: WorkBudget = .standard
    /// Tests lengthen the intervals if the database counts attempts by the database's own clock.
    var attemptIntervals = AttemptIntervals()
    /// How long a client may delay the server's shutdown.
    var endPatience: Duration = .seconds(5)
    /// Nil uses the process's `MetricsSystem`.
    var metrics: (any MetricsFactory)?
    var passwordCost: Passwords.Cost = .ofThisProcess
    /// Tests replace the providers.
    var fetchKeys: KeyFetch = HTTPKeyFetch.get

    @usableFromInline static let standardTombstoneDays = RowSync.Limit.tombstoneDays

    /// Makes a configuration. The server checks it when it starts. Each property documents its default.
    public init(
        host: String = "127.0.0.1", port: Int = 8090, storage: ServerStorage, schema: Schema,
        acceptedChanges: [SchemaChange] = [], rowValidation: RowValidation = RowValidation(), hook: GroupHook? = nil,
        didApply: (@Sendable (AppliedTransaction) async throws -> Void)? = nil, webhooks: [Webhook] = [],
        accessTokenLifetime: Duration = .seconds(15 * 60), refreshTokenLifetime: Duration = .seconds(60 * 86_400),
        allowsOneDeviceOnly: Bool = false, signUp: SignUpMode = .open,
        identityProviders: [IdentityProvider] = [], signIn: SignInMode = .both,
        deliverReset: (@Sendable (PasswordReset) async throws -> Void)? = nil, isBehindProxy: Bool = false,
        signInBurstPerAddress: Int = 60, signInBurstPerAccount: Int = 10,
        idleTimeout: Duration = .seconds(60), bodyTimeout: Duration = .seconds(60),
        tombstoneDays: Int = standardTombstoneDays, spaceLimits: SpaceLimits = SpaceLimits(),
        ownerlessSpaces: OwnerlessSpaces = .inherit, gazetteer: URL? = nil, routes: [AppRoute] = [],
        publicOrigin: String? = nil, connectionsPerAddress: Int = 512, memoryLimit: Int = 512_000_000,
        readerPatience: Duration = .seconds(120), adminPort: Int? = nil, health: HealthSettings? = nil,
        joinPage: JoinPage? = nil, acceptedTime: Date? = nil,
        dependencies: Dependencies = Dependencies(), logger: Logger = Logger(label: "optimist.server")
    ) {
        self.host = host
        self.port = port
        self.storage = storage
        self.schema = schema
        self.acceptedChanges = acceptedChanges
        self.rowValidation = rowValidation
        self.hook = hook
        self.didApply = didApply
        self.webhooks = webhooks
        self.adminPort = adminPort
        self.acceptedTime = acceptedTime
        self.accessTokenLifetime = accessTokenLifetime
        self.refreshTokenLifetime = refreshTokenLifetime
        self.allowsOneDeviceOnly = allowsOneDeviceOnly
        self.signUp = signUp
        self.identityProviders = identityProviders
        self.signIn = signIn
        self.deliverReset = deliverReset
        self.isBehindProxy = isBehindProxy
        self.signInBurstPerAddress = signInBurstPerAddress
        self.signInBurstPerAccount = signInBurstPerAccount
        self.idleTimeout = idleTimeout
        self.bodyTimeout = bodyTimeout
        self.tombstoneDays = tombstoneDays
        self.spaceLimits = spaceLimits
        self.ownerlessSpaces = ownerlessSpaces
        self.gazetteer = gazetteer
        self.routes = routes
        self.publicOrigin = publicOrigin
        self.connectionsPerAddress = connectionsPerAddress
        self.memoryLimit = memoryLimit
        self.readerPatience = readerPatience
        self.health = health
        self.joinPage = joinPage
        self.dependencies = dependencies
        self.logger = logger
    }
}
