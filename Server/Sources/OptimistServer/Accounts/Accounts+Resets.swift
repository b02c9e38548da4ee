// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire

extension Accounts {
    /// One hour, in seconds.
    static let resetLifetime = 3600.0

    /// Requests delivery of a reset token. The caller does not learn whether the address has an account.
    ///
    /// - Throws: ``AuthRefusal`` if the server does not deliver tokens, if the text is not an address, or after too
    ///   many requests.
    func forget(_ text: String, from caller: Caller) async throws {
        try await refusing(as: .resetRefused, caller) { _ in
            try await limit(caller)
            try requirePasswords()
            guard let forgetful else { throw AuthRefusal.noResets }
            let email = try EmailAddress(entered: text).text
            try await limit(.reset, email.lowercased())
            forgetful.add(email)
        }
    }

    /// - Returns: Nil if the address does not have an account.
    /// - Throws: `OptimistError` with code `account.notFound` if the account's address is a placeholder.
    func makeReset(email: String) async throws -> PasswordReset? {
        guard let address = EmailAddress(email), let account = try await store.account(email: address.text) else {
            return nil
        }
        guard !EmailAddress.isPlaceholder(account.email) else { throw OptimistError.noAddress }
        let token = OneTimeToken(for: .reset, account: account.id)
        let end = time + Self.resetLifetime
        try await store.keep(reset: token, until: end)
        return PasswordReset(email: account.email, token: token.text, expiresAt: Date(timeIntervalSince1970: end))
    }

    /// Ends all sessions of the account with `password_changed`. If the new password is refused, the token remains
    /// valid.
    func reset(_ text: String, to password: String, from caller: Caller) async throws {
        try await refusing(as: .resetRefused, caller) { subject in
            try await limit(caller)
            try requirePasswords()
            guard let token = OneTimeToken(text, for: .reset),
                let account = try await store.account(reset: token, at: time)
            else { throw AuthRefusal.invalidReset }
            subject.account = account.id
            // A new password would enable the account.
            if account.isDisabled { throw AuthRefusal.accountDisabled }
            try PasswordRules.check(password, email: account.email)
            let hash = try await hash(password)
            guard
                let ended = try await store.setPassword(
                    of: account, to: hash, keeping: nil, spending: token, at: time)
            else { throw AuthRefusal.invalidReset }
            try await forgive(account.email)
            log.note(.passwordChanged, caller, account: account.id)
            for session in ended { announce(account.id, session, .passwordChanged, caller) }
        }
    }
}
