// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistServer
import OptimistSession

/// A phone's session and account. Sign-in and sign-out are in ``DeviceRoutes``.
struct SessionRoutes {
    let park: DevicePark
    let server: OptimistServer
    let providers: SimulatedProviders

    func add(to router: Router<some RequestContext>) {
        let session = router.group("lab/devices/:device/session")
        session.get { _, context in try await named(context).answer() }
        session.post("expire") { _, context in
            let session = try await named(context)
            try await session.expire()
            return try await session.answer()
        }
        session.post("revoke") { _, context in
            let session = try await named(context)
            try await session.revoke()
            return try await session.answer()
        }
        session.post("sign-in-elsewhere") { _, context in
            let session = try await named(context)
            try await session.signInElsewhere()
            return try await session.answer()
        }
        session.get("devices") { _, context in AccountSessionAnswer.all(try await named(context).devices()) }
        session.delete("devices/:session") { _, context in
            let session = try await named(context)
            try await session.end(try context.parameters.require("session"))
            return AccountSessionAnswer.all(try await session.devices())
        }
        session.post("password") { _, context in
            let session = try await named(context)
            try await session.changePassword(in: park)
            return try await session.answer()
        }
        addIdentities(to: session)
    }

    private func addIdentities(to session: RouterGroup<some RequestContext>) {
        session.post("identity") { request, context in
            try await identities(context)
                .signIn(with: try await request.decode(as: ChosenProvider.self, context: context).provider)
            return try await named(context).answer()
        }
        session.get("identities") { _, context in IdentitiesAnswer(try await identities(context).all()) }
        session.post("identities") { request, context in
            let identities = try await identities(context)
            try await identities.link(try await request.decode(as: ChosenProvider.self, context: context).provider)
            return IdentitiesAnswer(try await identities.all())
        }
        session.delete("identities/:identity") { _, context in
            let identities = try await identities(context)
            try await identities.unlink(try context.parameters.require("identity"))
            return IdentitiesAnswer(try await identities.all())
        }
        session.post("delete-account") { _, context in
            try await identities(context).deleteAccount()
            return try await named(context).answer()
        }
    }

    private func named(_ context: some RequestContext) async throws -> PhoneSession {
        PhoneSession(device: try await park.device(try context.parameters.require("device")), server: server)
    }

    private func identities(_ context: some RequestContext) async throws -> PhoneIdentities {
        PhoneIdentities(
            device: try await park.device(try context.parameters.require("device")), providers: providers)
    }
}

private struct ChosenProvider: Decodable { var provider: String }

/// The ways to sign in to an account.
private struct IdentitiesAnswer: ResponseEncodable {
    struct Identity: Encodable {
        var id: String
        var provider: String?
    }

    var hasPassword: Bool
    var identities: [Identity]

    init(_ ways: AccountIdentities) {
        hasPassword = ways.hasPassword
        identities = ways.identities.map { Identity(id: $0.id, provider: $0.provider) }
    }
}

struct AccountSessionAnswer: ResponseEncodable, Sendable {
    var id: String
    var device: String
    var signedInAt: String?
    var lastUsedAt: String
    var isCurrent: Bool

    static func all(_ sessions: [AccountSession]) -> [AccountSessionAnswer] {
        sessions.map {
            AccountSessionAnswer(
                id: $0.id, device: $0.deviceName, signedInAt: $0.signedInAt?.ISO8601Format(.withMilliseconds),
                lastUsedAt: $0.lastUsedAt.ISO8601Format(.withMilliseconds), isCurrent: $0.isCurrent)
        }
    }
}

/// A session, without its tokens.
struct SessionAnswer: ResponseEncodable, Sendable {
    struct Token: Encodable {
        /// When the phone received the token, and when it expires.
        var issued: String
        var ends: String
        var ageMs: Double
        /// Whether the server refuses the token, because it has expired or its session has ended.
        var refused = false
    }

    struct SignOut: Encodable {
        var reason: String
        var at: String
    }

    /// The name of a `SessionState`, or `off`.
    var state: String
    var account: String?
    var nextRefresh: String?
    var token: Token?
    var refreshes = 0
    /// Why the server ended the session, even if the phone does not know it yet.
    var endedOnServer: String?
    var lastSignOut: SignOut?

    /// - Parameter state: Nil if the phone is off.
    init(_ state: SessionState?, _ signOut: SessionDiary.SignOut?) {
        self.state =
            switch state {
            case nil: "off"
            case .restoring: "restoring"
            case .locked: "locked"
            case .signedOut: "signedOut"
            case .active: "active"
            case .refreshing: "refreshing"
            case .degraded: "degraded"
            }
        if case .degraded(_, let next) = state { nextRefresh = next.ISO8601Format(.withMilliseconds) }
        account = state?.account?.email
        lastSignOut = signOut.map { SignOut(reason: $0.reason.rawValue, at: $0.at.ISO8601Format(.withMilliseconds)) }
    }

    mutating func show(_ credentials: Credentials, now: Date) {
        account = credentials.account.email
        // Both are always present, because the lab's server sends a token's lifetime.
        guard let ends = credentials.expiresAt, let lifetime = credentials.lifetime else { return }
        let issued = ends - lifetime / .seconds(1)
        token = Token(
            issued: issued.ISO8601Format(.withMilliseconds), ends: ends.ISO8601Format(.withMilliseconds),
            // By the server's clock, which the phone knows to the second.
            ageMs: max(0, now.timeIntervalSince(issued) * 1000))
    }

    mutating func show(_ session: OptimistServer.SessionSummary) {
        refreshes = session.refreshes
        endedOnServer = session.endReason
        token?.refused = !session.acceptsToken
    }
}
