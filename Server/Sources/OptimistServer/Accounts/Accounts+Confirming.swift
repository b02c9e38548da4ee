// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension Accounts {
    /// What shows that the account's user asks, and not someone who has the device or a copy of its tokens.
    enum Confirmation: Sendable {
        case password(String)
        /// A fresh token of one of the account's identities.
        case identity(IdentityProof)
    }

    /// In seconds. A confirmation needs a sign-in with the provider that is not older.
    static let confirmationAge = 300.0

    /// - Throws: ``AuthRefusal``, or ``Unauthorized`` if the account was deleted.
    func confirm(_ identity: Identity, _ confirmation: Confirmation, _ caller: Caller) async throws {
        switch confirmation {
        case .password(let password): _ = try await confirm(identity, password: password, caller)
        case .identity(let proof): try await confirm(identity, proof, caller)
        }
    }

    /// A wrong password counts like a wrong password at sign-in.
    func confirm(_ identity: Identity, password: String, _ caller: Caller) async throws -> StoredAccount {
        try await limit(caller)
        try requirePasswords()
        let account = try await ownAccount(identity)
        try await limit(account: account.email)
        guard try await isRight(password, account.password) else { throw AuthRefusal.wrongOwnPassword }
        try await forgive(account.email)
        return account
    }

    /// Spends the token. It is accepted also where people sign in with passwords only: an account without a password
    /// has no other confirmation.
    private func confirm(_ identity: Identity, _ proof: IdentityProof, _ caller: Caller) async throws {
        try await limit(caller)
        guard !providers.isEmpty else { throw AuthRefusal.identitiesOff }
        let proven = try await proven(proof, maxAge: Self.confirmationAge)
        guard try await store.account(of: proven.identity)?.id == identity.account else {
            throw AuthRefusal.foreignIdentity
        }
        try await store.spend(proven.token)
        try await forgive(identity: proven.identity)
    }

    func ownAccount(_ identity: Identity) async throws -> StoredAccount {
        guard let account = try await store.account(id: identity.account) else {
            throw Unauthorized(description: "The account was deleted.", end: .accountDeleted)
        }
        return account
    }

    /// Whether the user can sign in with the account's password.
    func hasUsablePassword(_ account: StoredAccount) -> Bool {
        settings.signIn.allowsPasswords && account.hasPassword
    }
}
