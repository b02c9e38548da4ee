// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import Logging
public import OptimistCore
public import OptimistServing
public import OptimistWire

/// What a server needs to know. Every value has a default that is right for one machine.
public struct ServerConfiguration: Sendable {
    /// The address to listen on. Default: this machine only. Put a proxy that speaks TLS before anything else.
    public var host: String
    /// The port. Zero: any free one, see ``OptimistServer/port``.
    public var port: Int
    /// Where the data lies. The directory is made if there is none, readable by its owner only. One that is there and holds
    /// nothing else is closed to others.
    public var dataDirectory: URL
    /// What the rows look like.
    public var schema: Schema
    /// The changes of the schema, from the version that was served before, that may take something from apps or rows.
    /// Default: none, and a schema with such a change is refused. One that the schema does not make is refused too.
    public var acceptedChanges: [SchemaChange]
    /// How long an access token lives.
    public var accessTokenLifetime: Duration
    /// How long a device may stay away before it has to sign in again.
    public var refreshTokenLifetime: Duration
    /// Whether signing in on one device ends the sessions of all others. Default: no.
    public var allowsOneDeviceOnly: Bool
    /// Who may make an account. Default: anybody.
    public var signUp: SignUpMode
    /// Delivers reset tokens to those who have forgotten their passwords, by mail say; one at a time. What it throws is
    /// logged. Default: nobody does, and `POST /auth/forgot-password` says so; `optimist account reset` makes tokens.
    public var deliverReset: (@Sendable (PasswordReset) async throws -> Void)?
    /// Whether a proxy of yours stands before the server, whose `X-Forwarded-For` and `X-Forwarded-Proto` are then
    /// believed. Without it everybody behind a proxy shares one limit on attempts. Default: no.
    public var isBehindProxy: Bool
    /// Where clients reach the server, such as `https://sync.example.org`: the URLs of its answers begin with it. Default:
    /// what the request says, in `Host` and behind a proxy in `X-Forwarded-Proto`.
    public var publicOrigin: String?
    /// How many connections one address may have at once. Further ones are closed. Behind a proxy there is no such limit.
    public var connectionsPerAddress: Int
    /// How many bytes of memory all requests and answers together may take up. 128 MB of them are for requests that are being
    /// carried out. The rest is for bodies and answers that wait for slow clients; when it is taken, the server refuses large
    /// requests with 503. A small request of an account that holds nothing always has room. At least 256 MB, which is a
    /// precondition when the server starts.
    public var memoryLimit: Int
    /// How far a client may fall behind 8 KB a second in reading its answers. Past that the server closes the connection. So
    /// a client holds an answer for this time at most, and a second more for each 8 KB of the answer.
    public var readerPatience: Duration
    /// How many attempts to sign in or up may come at once from one address. One more is allowed every two seconds.
    public var signInBurstPerAddress: Int
    /// How many wrong passwords may be tried at once for one account. One more is allowed every ten seconds.
    public var signInBurstPerAccount: Int
    /// How long a connection may stay silent, and a request's head may take.
    public var idleTimeout: Duration
    /// How long a request's body may take.
    public var bodyTimeout: Duration
    /// For how many days a deleted row is remembered. A device that was away for longer compares all that it has.
    public var tombstoneDays: Int
    /// A file of `optimist gazetteer import`, for `GET /places`. Default: none, and no such answers.
    public var gazetteer: URL?
    /// Routes of an app's own beside the server's. Default: none.
    public var routes: [AppRoute]
    /// Time, ids, chance and tasks. Secrets never come from here.
    public var surroundings: Surroundings
    public var logger: Logger

    /// How long one request may keep all others from writing. Tests change it.
    var workBudget: WorkBudget = .standard
    /// How long after the server was asked to end a client may let it wait.
    var endPatience: Duration = .seconds(5)
    /// How much work a password's hash is. Tests lower it.
    var passwordCost: Passwords.Cost = .standard

    public init(
        host: String = "127.0.0.1", port: Int = 8090, dataDirectory: URL, schema: Schema = .planner,
        acceptedChanges: [SchemaChange] = [],
        accessTokenLifetime: Duration = .seconds(15 * 60), refreshTokenLifetime: Duration = .seconds(60 * 86_400),
        allowsOneDeviceOnly: Bool = false, signUp: SignUpMode = .open,
        deliverReset: (@Sendable (PasswordReset) async throws -> Void)? = nil, isBehindProxy: Bool = false,
        signInBurstPerAddress: Int = 60, signInBurstPerAccount: Int = 10,
        idleTimeout: Duration = .seconds(60), bodyTimeout: Duration = .seconds(60),
        tombstoneDays: Int = RowSync.Limit.tombstoneDays, gazetteer: URL? = nil, routes: [AppRoute] = [],
        publicOrigin: String? = nil, connectionsPerAddress: Int = 512, memoryLimit: Int = 512_000_000,
        readerPatience: Duration = .seconds(120),
        surroundings: Surroundings = Surroundings(), logger: Logger = Logger(label: "optimist.server")
    ) {
        self.host = host
        self.port = port
        self.dataDirectory = dataDirectory
        self.schema = schema
        self.acceptedChanges = acceptedChanges
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
        self.surroundings = surroundings
        self.logger = logger
    }
}
