// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
public import Foundation
public import Logging
public import OptimistCore
@_spi(Internals) public import OptimistServing
@_spi(Internals) public import OptimistWire

/// The settings of a server. Every default is right for one machine.
public struct ServerConfiguration: Sendable {
    /// The address to listen on. Default: `127.0.0.1`, this machine only. Put a proxy that speaks TLS before any other.
    public var host: String
    /// The port. Zero: any free one, see ``OptimistServer/port``. Default: 8090.
    public var port: Int
    /// Where the data is: ``ServerStorage/directory(_:)``, or a database that several servers share.
    public var storage: ServerStorage
    /// The types and columns of the rows. Default: the planner's.
    public var schema: Schema
    /// The changes of the schema since the version that was served before, of those that may take something from apps
    /// or rows. Default: none. The server refuses a schema with another such change, and an accepted change that the
    /// schema does not make.
    public var acceptedChanges: [SchemaChange]
    /// How long an access token is valid. Default: 15 minutes.
    public var accessTokenLifetime: Duration
    /// How long a device may stay away before its user has to sign in again. Default: 60 days.
    public var refreshTokenLifetime: Duration
    /// Whether signing in on one device ends the sessions of all others. Default: false.
    public var allowsOneDeviceOnly: Bool
    /// The app's checks of its rows, which its `Store` has too. A row that fails is refused, and its device shows a
    /// rejection with the check's code. Default: none.
    public var rowValidation: RowValidation
    /// Refuses or amends what clients write, within the transaction: see ``GroupHook``. Why a group was put off is logged.
    /// Default: nil, and there is no such word.
    public var hook: GroupHook?
    /// Is told of every transaction of every account once it is durable, at least once, and in the order of each account,
    /// also after a restart. It is called for one transaction at a time, and by one process at a time. If it throws, the
    /// account's transactions are told again within 30 seconds, from the first one whose success is not noted. A server
    /// that gets it later begins with the first transaction of each account. Default: nil.
    public var didApply: (@Sendable (AppliedTransaction) async throws -> Void)?
    /// Who may make an account. Default: ``SignUpMode/open``.
    public var signUp: SignUpMode
    /// Delivers a reset token to a user who forgot the password, such as by mail; one at a time. Its errors are logged.
    /// Default: nil, and `POST /auth/forgot-password` says so; `optimist account reset` makes tokens.
    public var deliverReset: (@Sendable (PasswordReset) async throws -> Void)?
    /// Whether a proxy of yours stands before the server. The server then believes `X-Forwarded-For` and
    /// `X-Forwarded-Proto`. Without it, all clients behind a proxy share one limit on attempts. Default: false.
    public var isBehindProxy: Bool
    /// The time that an operator says it is, for a start after a leap of the clock by more than a day. It counts if the
    /// server's clock is less than a day and a half from it, and agrees to that clock: sweeping goes on. Default: nil.
    public var acceptedTime: Date?
    /// Where clients reach the server, such as `https://sync.example.org`: the URLs of its answers begin with it.
    /// Default: what the request says, in `Host` and behind a proxy in `X-Forwarded-Proto`.
    public var publicOrigin: String?
    /// How many connections one address may have at the same time. The server closes further ones. Behind a proxy there
    /// is no such limit. Default: 512.
    public var connectionsPerAddress: Int
    /// How many bytes of memory all requests and answers together may take up. 128 MB of them are for requests that are
    /// being carried out. The rest is for bodies and answers that wait for slow clients; when it is taken, the server
    /// refuses large requests with 503. A small request of an account that holds nothing always has room. At least 256
    /// MB, which is a precondition when the server starts. Default: 512 MB.
    public var memoryLimit: Int
    /// How far a client may fall behind 8 KB a second in reading its answers. Past that the server closes the
    /// connection. So a client holds an answer for this time at most, and a second more for each 8 KB of the answer.
    /// Default: 120 s.
    public var readerPatience: Duration
    /// How many attempts to sign in or up one address may make at once. One more is allowed every two seconds. Default:
    /// 60.
    public var signInBurstPerAddress: Int
    /// How many wrong passwords may be tried at once for one account. One more is allowed every ten seconds. Default:
    /// 10.
    public var signInBurstPerAccount: Int
    /// How long a connection may stay silent, and how long a request's head may take. Default: 60 s.
    public var idleTimeout: Duration
    /// How long a request's body may take. Default: 60 s.
    public var bodyTimeout: Duration
    /// How many days a deleted row is remembered. A device that was away for longer compares all its rows. Default: 90.
    public var tombstoneDays: Int
    /// A file of `optimist gazetteer import`, for `GET /places`. Default: nil, and no such route.
    public var gazetteer: URL?
    /// Routes of the app's own, beside the server's. Default: none.
    public var routes: [AppRoute]
    /// A port of 127.0.0.1 for the operator, with `/metrics` and the pages under `/admin`. Zero: any free one, see
    /// ``OptimistServer/adminPort``. Every user of this machine can read there what the app's users wrote. Default: nil,
    /// and there is no such port.
    public var adminPort: Int?
    /// The app whose health the server keeps, for `POST /health/reports`. Default: nil, and no such route.
    public var health: HealthSettings?
    /// Time, ids, chance and tasks. Secrets never come from here. Default: the real ones.
    public var dependencies: Dependencies
    /// Receives what the server logs: no tokens, no passwords and nothing that users wrote. Default: labelled
    /// `optimist.server`.
    public var logger: Logger

    /// Returns the time since a fixed moment, by a clock that does not leap. Tests let it pass by hand. Nil: by that of
    /// the dependencies.
    var elapsed: (@Sendable () -> Duration)?
    /// How long one request may keep all others from writing. Tests change it.
    var workBudget: WorkBudget = .standard
    /// Tests on a database that counts attempts by its own clock make them long.
    var attemptIntervals = AttemptIntervals()
    /// How long after the server was asked to end a client may let it wait.
    var endPatience: Duration = .seconds(5)
    /// Receives the server's figures. Nil: the process's `MetricsSystem` does. Tests name their own.
    var metrics: (any MetricsFactory)?
    /// How much work a password's hash is. Tests lower it.
    var passwordCost: Passwords.Cost = .ofThisProcess

    /// The days that a deleted row is remembered by default: as many as the protocol says.
    @usableFromInline static let standardTombstoneDays = RowSync.Limit.tombstoneDays

    /// Makes a configuration, unchecked: the server checks it when it starts. Each property says its default.
    public init(
        host: String = "127.0.0.1", port: Int = 8090, storage: ServerStorage, schema: Schema,
        acceptedChanges: [SchemaChange] = [], rowValidation: RowValidation = RowValidation(), hook: GroupHook? = nil,
        didApply: (@Sendable (AppliedTransaction) async throws -> Void)? = nil,
        accessTokenLifetime: Duration = .seconds(15 * 60), refreshTokenLifetime: Duration = .seconds(60 * 86_400),
        allowsOneDeviceOnly: Bool = false, signUp: SignUpMode = .open,
        deliverReset: (@Sendable (PasswordReset) async throws -> Void)? = nil, isBehindProxy: Bool = false,
        signInBurstPerAddress: Int = 60, signInBurstPerAccount: Int = 10,
        idleTimeout: Duration = .seconds(60), bodyTimeout: Duration = .seconds(60),
        tombstoneDays: Int = standardTombstoneDays, gazetteer: URL? = nil, routes: [AppRoute] = [],
        publicOrigin: String? = nil, connectionsPerAddress: Int = 512, memoryLimit: Int = 512_000_000,
        readerPatience: Duration = .seconds(120), adminPort: Int? = nil, health: HealthSettings? = nil,
        acceptedTime: Date? = nil,
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
        self.adminPort = adminPort
        self.acceptedTime = acceptedTime
        self.accessTokenLifetime = accessTokenLifetime
        self.refreshTokenLifetime = refreshTokenLifetime
        self.allowsOneDeviceOnly = allowsOneDeviceOnly
        self.signUp = signUp
        self.deliverReset = deliverReset
        self.isBehindProxy = isBehindProxy
        self.signInBurstPerAddress = signInBurstPerAddress
        self.signInBurstPerAccount = signInBurstPerAccount
        self.idleTimeout = idleTimeout
        self.bodyTimeout = bodyTimeout
        self.tombstoneDays = tombstoneDays
        self.gazetteer = gazetteer
        self.routes = routes
        self.publicOrigin = publicOrigin
        self.connectionsPerAddress = connectionsPerAddress
        self.memoryLimit = memoryLimit
        self.readerPatience = readerPatience
        self.health = health
        self.dependencies = dependencies
        self.logger = logger
    }
}
