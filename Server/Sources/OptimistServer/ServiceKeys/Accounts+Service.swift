// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// Changes of persons' accounts by programs with service keys.
extension Accounts {
    /// Creates an account without a password and without a session. The person chooses a password with a reset token,
    /// or signs in by other means.
    ///
    /// - Throws: ``AuthRefusal`` if the address is not valid or taken.
    func create(email text: String, by key: ServiceKey, _ caller: Caller) async throws -> StoredAccount {
        let account = StoredAccount(
            id: makeAccountID(), email: try EmailAddress(entered: text).text, password: "")
        try await store.add(account, at: now())
        log.note(.accountCreated, caller, account: account.id, serviceKey: key.id)
        return account
    }

    /// Disables an account, or enables it. A disabled account keeps its rows and its password, its sessions end, and its
    /// person cannot sign in.
    ///
    /// - Returns: Nil if there is no such account.
    func setDisabled(_ isDisabled: Bool, _ id: String, by key: ServiceKey, _ caller: Caller) async throws
        -> StoredAccount?
    {
        while let account = try await store.account(id: id) {
            if account.isDisabled == isDisabled { return account }
            var changed = account
            changed.isDisabled = isDisabled
            if isDisabled {
                for session in try await store.sessions(of: id, refreshedSince: 0) {
                    try await revoke(account: id, session: session.id, by: caller)
                }
            }
            // Nil: the account has changed since it was read.
            let ended = try await store.setPassword(of: account, to: changed.password, keeping: nil, at: time)
            for session in ended ?? [] { announce(id, session, .passwordChanged, caller) }
            guard ended != nil else { continue }
            log.note(isDisabled ? .accountDisabled : .accountEnabled, caller, account: id, serviceKey: key.id)
            return changed
        }
        return nil
    }
}

extension StoredAccount {
    /// Comes before the hash of a disabled account's password, so that no password matches it.
    private static let lock = "!"

    /// Whether the account is disabled, so that its person cannot sign in.
    var isDisabled: Bool {
        get { password.hasPrefix(Self.lock) }
        set {
            if newValue == isDisabled { return }
            password = newValue ? Self.lock + password : String(password.dropFirst())
        }
    }

    /// The hash of the password, also of a disabled account.
    var passwordIfEnabled: String {
        var account = self
        account.isDisabled = false
        return account.password
    }
}
