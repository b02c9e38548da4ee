// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import HTTPTypes
public import OptimistCore

/// An identity that can sign in to the account, such as the user's Apple account.
public struct AccountIdentity: Identifiable, Hashable, Sendable {
    /// The identity's id, for ``Session/unlinkIdentity(_:confirmedBy:)``.
    public let id: String
    /// The provider's address, such as `https://appleid.apple.com`.
    public let issuer: String
    /// The provider's short name, such as `apple`. Nil if the server no longer accepts the provider.
    public let provider: String?
    /// When the identity was added to the account.
    public let linkedAt: Date

    /// Makes an identity, for tests and previews.
    public init(id: String, issuer: String, provider: String?, linkedAt: Date) {
        self.id = id
        self.issuer = issuer
        self.provider = provider
        self.linkedAt = linkedAt
    }
}

/// The ways to sign in to an account.
public struct AccountIdentities: Hashable, Sendable {
    /// The identities, the first added one first.
    public let identities: [AccountIdentity]
    /// Whether the user can also sign in with a password. If not, ``Session/deleteAccount(identityToken:nonce:)``
    /// deletes the account; otherwise ``Session/deleteAccount(password:)`` does.
    public let hasPassword: Bool

    /// Makes a list, for tests and previews.
    public init(identities: [AccountIdentity], hasPassword: Bool) {
        self.identities = identities
        self.hasPassword = hasPassword
    }
}

/// What shows that the account's user asks, and not someone who has only the device: ``password(_:)`` or
/// ``identity(token:nonce:)``.
public struct AccountConfirmation: Hashable, Sendable {
    let members: [String: String]

    /// The account's password.
    public static func password(_ password: String) -> Self { Self(members: ["password": password]) }

    /// A token of a sign-in with one of the account's identities in the last five minutes. The server accepts it once.
    ///
    /// - Parameters:
    ///   - token: The provider's identity token.
    ///   - nonce: As in ``Session/signIn(identityToken:nonce:invitation:)``. Default: none.
    public static func identity(token: String, nonce: String? = nil) -> Self {
        var members = ["identityToken": token]
        members["nonce"] = nonce
        return Self(members: members)
    }
}

extension AccountConfirmation: CustomStringConvertible, CustomReflectable {
    /// Without the secret.
    public var description: String { "<redacted>" }

    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Signing in with the identity token of a provider, such as Apple, Google, Firebase or Supabase.
///
/// The server accepts each token once, so none of these methods is retried automatically. After an error, get a new
/// token from the provider.
extension Session {
    /// Signs in, and creates the account if the identity is new and the server allows it. A previously signed-in user
    /// is signed out of this device with reason `replaced`.
    ///
    /// If it fails, or is cancelled before the answer arrives, nothing changes.
    ///
    /// - Parameters:
    ///   - identityToken: The provider's identity token, a JSON Web Token.
    ///   - nonce: The nonce that the app made for this sign-in. With Apple the request contains its SHA-256 in
    ///     hexadecimal digits, and this is the nonce itself. Default: none.
    ///   - invitation: For a server that requires one for a new account. Default: none.
    /// - Returns: The account. Its email is empty if the provider does not vouch for an address.
    /// - Throws: `OptimistError` with code `identityTokenExpired`, `identityTokenRefused`, `accountExists`,
    ///   `signUpClosed`, `invitationNeeded`, `invalidInvitation` or `identitiesOff`, each with a message to show;
    ///   otherwise as ``signIn(email:password:)``. For `identityTokenRefused`, `OptimistError.serverReason` says which
    ///   check failed.
    @discardableResult
    public func signIn(
        identityToken: String, nonce: String? = nil, invitation: String? = nil
    ) async throws -> Account {
        try await enter(
            by: configuration.endpoints.token, .form, email: "", refusal: "The server did not accept this identity."
        ) { device in
            var fields = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("subject_token", identityToken),
                ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"), ("device_id", device.id),
                ("device_name", device.name),
            ]
            if let nonce { fields.append(("nonce", nonce)) }
            if let invitation { fields.append(("invitation", invitation)) }
            return Form(fields).bytes
        }
    }

    /// Returns the ways to sign in to the account.
    ///
    /// - Throws: `OptimistError` with code `accountRequestRefused` or `accountRequestFailed`; otherwise as
    ///   ``send(_:)``.
    public func identities() async throws -> AccountIdentities {
        let body = try await asked(.get, configuration.endpoints.identities)
        guard let list = try? JSONDecoder().decode(IdentityList.self, from: Data(body)).value else {
            throw OptimistError.accountAnswerUnreadable
        }
        return list
    }

    /// Adds an identity to the account, so that the user can also sign in with it.
    ///
    /// - Parameters:
    ///   - identityToken: A token of the new identity.
    ///   - nonce: As in ``signIn(identityToken:nonce:invitation:)``.
    ///   - confirmation: The account's password, or a token of an identity that the account already has.
    /// - Throws: `OptimistError` with code `identityTaken`, `tooManyIdentities`, `wrongPassword`, `foreignIdentity`,
    ///   `identityTokenExpired`, `identityTokenRefused`, `identitiesOff` or `passwordsOff`; otherwise as
    ///   ``accountSessions()``.
    @discardableResult
    public func linkIdentity(
        identityToken: String, nonce: String? = nil, confirmedBy confirmation: AccountConfirmation
    ) async throws -> AccountIdentity {
        let body = try await asked(
            .post, configuration.endpoints.identities,
            NewIdentity(identityToken: identityToken, nonce: nonce, confirmation: confirmation.members))
        guard let identity = try? JSONDecoder().decode(IdentityList.Entry.self, from: Data(body)).value else {
            throw OptimistError.accountAnswerUnreadable
        }
        return identity
    }

    /// Removes an identity from the account. No session ends.
    ///
    /// - Parameters:
    ///   - id: From ``identities()``.
    ///   - confirmation: The account's password, or a token of an identity of the account, also of the removed one.
    /// - Throws: `OptimistError` with code `lastWayIn` if it is the only way to sign in, `unknownIdentity`,
    ///   `wrongPassword`, `foreignIdentity`, `identityTokenExpired`, `identityTokenRefused`, `identitiesOff` or
    ///   `passwordsOff`; otherwise as ``accountSessions()``.
    public func unlinkIdentity(_ id: String, confirmedBy confirmation: AccountConfirmation) async throws {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        do {
            try await asked(.post, "\(configuration.endpoints.identities)/\(name)/remove", confirmation.members)
        } catch let error as OptimistError where error.code == .unknownSession {
            throw OptimistError(.unknownIdentity, "The account does not have this identity.")
        }
    }

    /// Permanently deletes the account, as ``deleteAccount(password:)``, for a user without a password.
    ///
    /// - Parameters:
    ///   - identityToken: A token of a sign-in with one of the account's identities in the last five minutes.
    ///   - nonce: As in ``signIn(identityToken:nonce:invitation:)``.
    /// - Throws: `OptimistError` with code `passwordNeeded` if the user has a password, `foreignIdentity`,
    ///   `identityTokenExpired`, `identityTokenRefused` or `identitiesOff`; otherwise as ``accountSessions()``.
    public func deleteAccount(identityToken: String, nonce: String? = nil) async throws {
        try await deleteAccount(confirmedBy: .identity(token: identityToken, nonce: nonce))
    }
}

private struct NewIdentity: Encodable {
    let identityToken: String
    let nonce: String?
    let confirmation: [String: String]
}

private struct IdentityList: Decodable {
    struct Entry: Decodable {
        let value: AccountIdentity

        private enum CodingKeys: CodingKey { case id, issuer, provider, linkedAt }

        init(from decoder: any Decoder) throws {
            let entry = try decoder.container(keyedBy: CodingKeys.self)
            value = AccountIdentity(
                id: try entry.decode(String.self, forKey: .id), issuer: try entry.decode(String.self, forKey: .issuer),
                provider: try entry.decodeIfPresent(String.self, forKey: .provider),
                linkedAt: try Date(
                    entry.decode(String.self, forKey: .linkedAt),
                    strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        }
    }

    private let identities: [Entry]
    private let hasPassword: Bool?

    var value: AccountIdentities {
        AccountIdentities(identities: identities.map(\.value), hasPassword: hasPassword ?? true)
    }
}

extension OptimistError.Code {
    /// The identity token has expired, was already used, or is too old for a confirmation. The remedy is a new one.
    public static let identityTokenExpired = Self("session.identityTokenExpired")
    /// The server does not accept the identity token, for example because it is for another app. `serverReason` says
    /// which check failed.
    public static let identityTokenRefused = Self("session.identityTokenRefused")
    /// An account with the identity's address exists. The user can sign in to it and add the identity there.
    public static let accountExists = Self("session.accountExists")
    /// The identity already belongs to an account.
    public static let identityTaken = Self("session.identityTaken")
    /// The account has as many identities as the server allows.
    public static let tooManyIdentities = Self("session.tooManyIdentities")
    /// The identity does not belong to the signed-in account.
    public static let foreignIdentity = Self("session.foreignIdentity")
    /// The account has a password, which must confirm the deletion.
    public static let passwordNeeded = Self("session.passwordNeeded")
    /// The identity is the only way to sign in to the account.
    public static let lastWayIn = Self("session.lastWayIn")
    /// The account does not have this identity.
    public static let unknownIdentity = Self("session.unknownIdentity")
    /// The server does not accept identity tokens.
    public static let identitiesOff = Self("session.identitiesOff")
    /// The server does not use passwords.
    public static let passwordsOff = Self("session.passwordsOff")
}

extension OptimistError {
    /// > Source: Documentation/Protocol.md, "Identities".
    static let identityReasons: [String: (code: Code, sentence: String)] = {
        let refused = (
            code: Code.identityTokenRefused,
            sentence: "The server does not accept this sign-in. Try again, and update the app if it is refused again."
        )
        let expired = (
            code: Code.identityTokenExpired, sentence: "This sign-in has expired. Sign in with the provider again."
        )
        let known: [String: (code: Code, sentence: String)] = [
            "account_exists": (
                .accountExists, "An account with this address exists. Sign in to it, then add this identity there."
            ),
            "identity_taken": (.identityTaken, "This identity already belongs to an account."),
            "too_many_identities": (.tooManyIdentities, "The account has too many identities. Remove one first."),
            "foreign_identity": (
                .foreignIdentity, "This is another identity. Sign in with an identity of this account."
            ),
            "password_needed": (.passwordNeeded, "This account has a password. Confirm with the password."),
            "last_way_in": (.lastWayIn, "You could no longer sign in without this identity. Add another one first."),
            "identities_off": (.identitiesOff, "This server does not accept sign-ins with other services."),
            "passwords_off": (.passwordsOff, "This server does not use passwords. Sign in with another service."),
            "token_expired": expired, "token_used": expired, "token_stale": expired,
        ]
        let others = [
            "too_large", "malformed", "type", "critical", "issuer", "algorithm", "key", "signature", "audience",
            "party", "lifetime", "not_yet", "issued", "nonce", "subject",
        ]
        return known.merging(others.map { ("token_\($0)", refused) }) { known, _ in known }
    }()
}
