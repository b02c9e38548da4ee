// This source file is part of the Optimist open source project, under the MIT licence.

/// An identity that belongs to an account.
package struct LinkedIdentity: Hashable, Sendable {
    package var identity: ProviderIdentity
    /// In seconds since 1970.
    package var linkedAt: Double

    package init(_ identity: ProviderIdentity, linkedAt: Double) {
        self.identity = identity
        self.linkedAt = linkedAt
    }
}

/// The use of an identity token: which identity it proves, and how the store remembers the token.
package struct IdentityUse: Hashable, Sendable {
    package var linked: LinkedIdentity
    package var token: SpentToken
    /// Whether the identity is given to the account. If not, the account must already have it.
    package var isNew: Bool
}

/// The identities of accounts. The rules of ``AccountStore`` for times, durability and errors apply.
///
/// ``AccountStore`` also spends tokens: it refuses a token that any process has spent before, in the transaction that
/// uses it.
package protocol IdentityStore: Sendable {
    func account(of identity: ProviderIdentity) async throws -> StoredAccount?
    /// Sorted by time, then issuer and subject.
    func identities(of account: String) async throws -> [LinkedIdentity]
    /// Gives an identity to an account, and spends the token.
    ///
    /// - Returns: False, with nothing stored, if an account has the identity, or the account does not exist or has
    ///   `maxCount` identities.
    /// - Throws: ``AuthRefusal`` if the token was spent.
    func link(_ use: IdentityUse, to account: String, maxCount: Int) async throws -> Bool
    /// Takes an identity from an account.
    ///
    /// - Parameters:
    ///   - id: The identity's ``ProviderIdentity/id``.
    ///   - account: The account's id.
    ///   - canSignIn: Whether the account could still be signed in to with its password or the remaining identities.
    ///     May run more than once.
    /// - Returns: The identity. Nil if the account does not have it.
    /// - Throws: ``AuthRefusal`` with the reason `last_way_in` if `canSignIn` returns false.
    func unlink(
        _ id: String, from account: String,
        if canSignIn: @escaping @Sendable (StoredAccount, [ProviderIdentity]) -> Bool
    ) async throws -> ProviderIdentity?
    /// Spends a token without another change.
    ///
    /// - Throws: ``AuthRefusal`` if it was spent before.
    func spend(_ token: SpentToken) async throws
    /// Forgets spent tokens that have expired.
    func forgetSpentTokens(endedBefore time: Double) async throws
}
