// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// How people sign in.
public enum SignInMode: String, Sendable, CaseIterable, Codable {
    /// With an address and a password.
    case password
    /// With an identity token of a provider.
    case identity
    case both

    var allowsPasswords: Bool { self != .identity }
    var allowsIdentities: Bool { self != .password }
}

/// An account took the identity or its address since the last look. The store is unchanged.
package struct IdentityTaken: Error {
    package init() {}
}

extension Accounts {
    /// A sign-in with an identity token.
    struct IdentityEntry: Sendable {
        var proof: IdentityProof
        var invitation: String?
        var device: Device

        /// - Throws: ``AuthRefusal`` that names the missing or invalid input.
        init(form: [String: String]) throws(AuthRefusal) {
            guard form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token" else {
                throw .invalidRequest("\"subject_token_type\" must be urn:ietf:params:oauth:token-type:id_token.")
            }
            guard let token = form["subject_token"] else { throw .invalidRequest("\"subject_token\" is missing.") }
            guard let device = form["device_id"] else { throw .invalidRequest("\"device_id\" is missing.") }
            proof = IdentityProof(token: token, nonce: form["nonce"])
            invitation = form["invitation"]
            self.device = try Device(id: device, name: form["device_name"] ?? "")
        }
    }

    /// An identity token as the app sends it.
    struct IdentityProof: Sendable {
        var token: String
        var nonce: String?
    }

    /// An account has at most this many identities.
    static let maxIdentities = 20

    /// > Source: RFC 8693 §2.2.1.
    func signIn(_ entry: IdentityEntry, from caller: Caller) async throws -> JSON {
        try await refusing(as: .signInRefused, caller) { subject in
            let proven = try await entering(entry.proof, caller)
            // Another request may give the identity to an account, or take it away, between the look and the write.
            for _ in 0..<3 {
                let (owner, account) = try await account(for: proven)
                subject.account = account?.id
                if let account {
                    guard let answer = try await begin(account, proven, isNew: owner == nil, entry, caller) else {
                        continue
                    }
                    return answer
                }
                do { return try await signUp(proven, entry) } catch is IdentityTaken { continue }
            }
            throw AuthRefusal.busy
        }
    }

    /// Returns the account that has the identity, and the account to sign in to, which the identity may join.
    private func account(
        for proven: ProvenIdentity
    ) async throws -> (owner: StoredAccount?, account: StoredAccount?) {
        if let owner = try await store.account(of: proven.identity) { return (owner, owner) }
        guard let email = proven.verifiedEmail, let found = try await store.account(email: email.text) else {
            return (nil, nil)
        }
        // Someone who does not own the address may have signed up with it and a password.
        guard mayJoin(proven), !found.hasPassword else {
            // The identity's own first sign-in may have made the account after the look above.
            if let owner = try await store.account(of: proven.identity) { return (owner, owner) }
            throw AuthRefusal.accountExists
        }
        return (nil, found)
    }

    /// Whether the operator trusts the provider's word about addresses.
    private func mayJoin(_ proven: ProvenIdentity) -> Bool {
        providers[proven.identity.issuer]?.joinsByEmail == true
    }

    private func begin(
        _ account: StoredAccount, _ proven: ProvenIdentity, isNew: Bool, _ entry: IdentityEntry, _ caller: Caller
    ) async throws -> JSON? {
        if account.isDisabled { throw AuthRefusal.accountDisabled }
        let session = newSession(account.id, entry.device)
        guard
            let ended = try await store.begin(
                session, of: account, by: use(proven, isNew: isNew), isOnlyOne: settings.allowsOneDeviceOnly)
        else { return nil }
        if isNew { log.note(.identityLinked, caller, account: account.id, session: session.id) }
        try await forgive(identity: proven.identity)
        for session in ended { announce(account.id, session, .signedInElsewhere, caller) }
        return try await grant(session, to: account)
    }

    private func signUp(_ proven: ProvenIdentity, _ entry: IdentityEntry) async throws -> JSON {
        let invitation = try await admission(entry.invitation)
        if let email = proven.unverifiedEmail, try await store.account(email: email.text) != nil {
            throw AuthRefusal.accountExists
        }
        let id = makeAccountID()
        // Another provider's user could join the account by its address.
        let email = mayJoin(proven) ? proven.verifiedEmail?.text : nil
        let account = StoredAccount(id: id, email: email ?? EmailAddress.placeholder(for: id), password: "")
        let session = newSession(id, entry.device)
        do {
            try await store.add(
                account, session, by: use(proven, isNew: true), spending: invitation, at: now())
        } catch let refusal as AuthRefusal where refusal == .emailTaken {
            // The identity may belong to the account that has just taken the address.
            throw IdentityTaken()
        }
        try await forgive(identity: proven.identity)
        return try await grant(session, to: account)
    }

    private func grant(_ session: SessionRecord, to account: StoredAccount) async throws -> JSON {
        var answer = try await grant(session).object ?? [:]
        answer.append("issued_token_type", "urn:ietf:params:oauth:token-type:access_token")
        answer.append("email", account.email.isPlaceholder ? .null : .string(account.email))
        return .object(answer)
    }

    /// Checks the token of an identity that is, or becomes, a way to sign in.
    private func entering(_ proof: IdentityProof, _ caller: Caller) async throws -> ProvenIdentity {
        try await limit(caller)
        guard settings.signIn.allowsIdentities else { throw AuthRefusal.identitiesOff }
        return try await proven(proof)
    }

    func proven(_ proof: IdentityProof, maxAge: Double? = nil) async throws -> ProvenIdentity {
        let proven = try await providers.proof(of: proof.token, nonce: proof.nonce, maxAge: maxAge, at: time)
        try await limit(.account, proven.identity.throttleKey)
        return proven
    }

    func forgive(identity: ProviderIdentity) async throws {
        try await attempts.forgive(.account, identity.throttleKey)
    }

    private func use(_ proven: ProvenIdentity, isNew: Bool) -> IdentityUse {
        IdentityUse(
            linked: LinkedIdentity(proven.identity, linkedAt: time), token: proven.token, isNew: isNew)
    }

    // MARK: - An account's identities

    func identities(of account: String) async throws -> JSON {
        let stored = try await store.account(id: account)
        let identities = try await store.identities(of: account)
        return [
            "identities": .array(identities.map(json)),
            "hasPassword": .bool(stored.map(hasUsablePassword) ?? false),
        ]
    }

    private func json(_ linked: LinkedIdentity) -> JSON {
        [
            "id": .string(linked.identity.id), "issuer": .string(linked.identity.issuer),
            "provider": (providers[linked.identity.issuer]?.name).map(JSON.string) ?? .null,
            "linkedAt": .string(Date(timeIntervalSince1970: linked.linkedAt).utcText),
        ]
    }

    func link(
        _ identity: Identity, _ proof: IdentityProof, _ confirmation: Confirmation, _ caller: Caller
    ) async throws -> JSON {
        try await refusing(as: .identityRefused, caller, about: Subject(identity)) { _ in
            let proven = try await entering(proof, caller)
            try await confirm(identity, confirmation, caller)
            let use = use(proven, isNew: true)
            guard try await store.link(use, to: identity.account, maxCount: Self.maxIdentities) else {
                let owner = try await store.account(of: proven.identity)
                throw owner == nil ? AuthRefusal.tooManyIdentities : .identityTaken
            }
            try await forgive(identity: proven.identity)
            log.note(.identityLinked, caller, account: identity.account, session: identity.session)
            return json(use.linked)
        }
    }

    /// - Returns: False if the account does not have this identity.
    func unlink(
        _ identity: Identity, _ id: String, _ confirmation: Confirmation, _ caller: Caller
    ) async throws -> Bool {
        try await refusing(as: .identityRefused, caller, about: Subject(identity)) { _ in
            try await confirm(identity, confirmation, caller)
            let gone = try await store.unlink(id, from: identity.account) { [self] account, rest in
                hasUsablePassword(account)
                    || settings.signIn.allowsIdentities && rest.contains { providers[$0.issuer] != nil }
            }
            guard gone != nil else { return false }
            log.note(.identityRemoved, caller, account: identity.account, session: identity.session)
            return true
        }
    }

    /// Deletes an account without a password. All its devices learn `account_deleted`.
    func deleteAccount(_ identity: Identity, _ proof: IdentityProof, _ caller: Caller) async throws {
        try await refusing(as: .identityRefused, caller, about: Subject(identity)) { _ in
            let account = try await ownAccount(identity)
            guard !hasUsablePassword(account) else { throw AuthRefusal.passwordNeeded }
            try await confirm(identity, .identity(proof), caller)
            // The user has just set a password.
            guard try await delete(account.id, if: account, caller) else { throw AuthRefusal.passwordNeeded }
        }
    }
}

extension StoredAccount {
    /// Whether the user can sign in with a password where passwords are allowed. A placeholder is not such an address.
    package var hasPassword: Bool { !passwordIfEnabled.isEmpty && !email.isPlaceholder }
}

extension ProviderIdentity {
    fileprivate var throttleKey: String { "identity \(id)" }
}

extension EmailAddress {
    /// Mail to this domain reaches no mailbox (RFC 2606).
    private static let placeholderDomain = "@identity.invalid"

    /// The unique address of an account whose provider vouches for none.
    static func placeholder(for account: String) -> String { account + placeholderDomain }

    static func isPlaceholder(_ text: String) -> Bool { text.lowercased().hasSuffix(placeholderDomain) }
}

extension String {
    var isPlaceholder: Bool { EmailAddress.isPlaceholder(self) }
}

extension AuthRefusal {
    static let accountExists = invalidRequest(
        "An account with this address exists. Sign in to it, and add this identity there.", reason: "account_exists")

    static let identityTaken = invalidRequest(
        "This identity already belongs to an account.", reason: "identity_taken")

    static let tooManyIdentities = invalidRequest(
        "An account has at most \(Accounts.maxIdentities) identities.", reason: "too_many_identities")

    static let foreignIdentity = invalidRequest(
        "This identity does not belong to the account.", reason: "foreign_identity")

    static let passwordNeeded = invalidRequest(
        "This account has a password. Confirm with the password.", reason: "password_needed")

    package static let lastWayIn = invalidRequest(
        "This identity is the only way to sign in to the account. Add another one first.", reason: "last_way_in")

    package static let usedToken = Self(.used)

    static let identitiesOff = Self(
        status: 403, error: "access_denied", description: "This server does not accept identity tokens.",
        reason: "identities_off")

    static let passwordsOff = Self(
        status: 403, error: "access_denied",
        description: "This server does not use passwords. Sign in with an identity provider.", reason: "passwords_off")
}
