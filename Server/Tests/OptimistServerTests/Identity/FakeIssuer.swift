// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// A provider of identities in the test's process.
final class FakeIssuer: Sendable {
    let provider: IdentityProvider
    private struct State {
        var key = "p256"
        var keyID = "k1"
        var isDown = false
        var count = 0
    }
    private let state = Mutex(State())
    private let site: Site

    init(_ site: Site, name: String = "test", issuer: String = DraftToken.issuer, joinsByEmail: Bool = false) {
        self.site = site
        provider = IdentityProvider(
            name: name, issuer: issuer, audiences: ["app"], joinsByEmail: joinsByEmail)
    }

    /// Lets a server accept these issuers' tokens.
    static func use(_ issuers: [FakeIssuer], _ configuration: inout ServerConfiguration) {
        configuration.identityProviders = issuers.map(\.provider)
        configuration.fetchKeys = { url in
            let text = url.absoluteString
            guard let issuer = issuers.first(where: { text.hasPrefix($0.provider.issuer + "/") }) else {
                throw KeysUnavailable()
            }
            return try issuer.answer(isKeys: text.hasSuffix("/keys"))
        }
    }

    private func answer(isKeys: Bool) throws -> [UInt8] {
        let state = state.withLock(\.self)
        if state.isDown { throw KeysUnavailable() }
        if isKeys {
            let key = try TokenKey.named(state.key).json(id: state.keyID, algorithm: "ES256")
            return JSON.object(["keys": [key]]).bytes
        }
        let issuer = provider.issuer
        return JSON.object(["issuer": .string(issuer), "jwks_uri": .string(issuer + "/keys")]).bytes
    }

    func rotate(to key: String, id: String) { state.withLock { ($0.key, $0.keyID) = (key, id) } }

    func goDown(_ isDown: Bool = true) { state.withLock { $0.isDown = isDown } }

    /// A new token. Each has its own `jti`.
    func token(_ subject: String = "ann", _ claims: JSONObject = [:]) throws -> String {
        let state = state.withLock { state in
            state.count += 1
            return state
        }
        let now = Int64(site.now.timeIntervalSince1970)
        var draft = DraftToken(
            try .named(state.key), algorithm: "ES256", id: state.keyID,
            [
                "iss": .string(provider.issuer), "sub": .string(subject), "iat": .int(now), "exp": .int(now + 600),
                "jti": .string("\(state.count)"),
            ])
        draft.set(claims)
        return try draft.text()
    }
}

extension OptimistServer {
    static let spentToken = SpentToken(hash: Data([1, 2, 3]), endsAt: 4_000_000_000)

    /// Gives an identity to a person, without HTTP.
    func link(_ subject: String, to person: Person) async throws {
        let identity = ProviderIdentity(issuer: DraftToken.issuer, subject: subject)
        let use = IdentityUse(linked: LinkedIdentity(identity, linkedAt: 1), token: Self.spentToken, isNew: true)
        try #require(await registry.store.link(use, to: person.account, maxCount: 2))
    }
}

extension Site {
    /// Runs a server that accepts these issuers' tokens.
    func serving<Value: Sendable>(
        _ issuers: [FakeIssuer], change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (OptimistServer, HTTPSide) async throws -> Value
    ) async throws -> Value {
        try await serving(
            change: { configuration in
                FakeIssuer.use(issuers, &configuration)
                change(&configuration)
            }, body)
    }
}

extension JSONObject {
    /// The claims of a token about an address.
    static func email(_ address: String, isVerified: Bool = true) -> JSONObject {
        ["email": .string(address), "email_verified": .bool(isVerified)]
    }
}

extension HTTPSide {
    /// Adds an identity to the account.
    func link(_ token: String, to person: Person, _ confirmation: JSON = .password) async throws -> Answer {
        let body: JSON = ["identityToken": .string(token), "confirmation": confirmation]
        return try await post("/auth/identities", body, token: person.access)
    }

    /// Removes an identity from the account.
    func unlink(_ id: String, from person: Person, _ confirmation: JSON = .password) async throws -> Answer {
        try await post("/auth/identities/\(id)/remove", confirmation, token: person.access)
    }

    /// Trades an identity token for a session.
    func exchange(
        _ token: String, device: String = "phone", _ more: [String: String] = [:], forwardedFor: String? = nil
    ) async throws -> Answer {
        var fields = [
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": token,
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "device_id": device,
            "device_name": "Phone",
        ]
        for (name, value) in more { fields[name] = value.isEmpty ? nil : value }
        let form = fields.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
        return try await post("/auth/token", Array(form.joined(separator: "&").utf8), forwardedFor: forwardedFor)
    }
}

extension JSON {
    /// Confirms with the password of ``entry(_:password:device:)``.
    static let password: JSON = ["password": "correct horse"]

    /// Confirms with a token of an identity.
    static func identity(_ token: String) -> JSON { ["identityToken": .string(token)] }
}
