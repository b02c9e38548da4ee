// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

extension Accounts {
    struct Entry: Sendable {
        var email: String
        var password: String
        var invitation: String?
        var device: Device

        /// - Throws: ``AuthRefusal`` that names the missing or invalid input.
        init(json: JSON) throws(AuthRefusal) {
            guard let email = json["email"]?.string, let password = json["password"]?.string,
                let device = json["device"]?["id"]?.string
            else { throw .invalidRequest("\"email\", \"password\" and \"device\" with an \"id\" are required.") }
            self.email = try EmailAddress(entered: email).text
            try PasswordRules.checkLength(password)
            self.device = try Device(id: device, name: json["device"]?["name"]?.string ?? "")
            self.password = password
            invitation = json["invitation"]?.string
        }
    }

    struct Device: Sendable {
        let id: String
        let name: String

        /// - Throws: ``AuthRefusal`` that names the invalid input.
        init(id: String, name: String) throws(AuthRefusal) {
            guard (1...128).contains(id.utf8.count), OutsideText.isClean(id) else {
                throw .invalidRequest("A device id must have 1 to 128 bytes and no control characters.")
            }
            try OutsideText.check(name, "name")
            self.id = id
            self.name = String(String.UnicodeScalarView(name.unicodeScalars.prefix(200)))
        }
    }

    func makeAccountID() -> String { "a" + makeID().plainText.prefix(16) }

    func signUp(_ entry: Entry, from caller: Caller) async throws -> JSON {
        try await refusing(as: .signUpRefused, caller) { _ in
            try await limit(caller)
            try requirePasswords()
            let invitation = try await admission(entry.invitation)
            try PasswordRules.check(entry.password, email: entry.email)
            let account = StoredAccount(
                id: makeAccountID(), email: entry.email, password: try await hash(entry.password))
            let session = newSession(account.id, entry.device)
            try await store.add(account, session, by: nil, spending: invitation, at: now())
            return try await grant(session)
        }
    }

    /// Returns the invitation that a sign-up spends, or nil if none is needed.
    ///
    /// The invitation is checked before the password is hashed, so that a stranger without an invitation costs the
    /// server little and cannot learn which addresses have an account.
    func admission(_ text: String?) async throws -> OneTimeToken? {
        switch settings.signUp {
        case .open: return nil
        case .closed: throw AuthRefusal.signUpClosed
        case .invited:
            guard let text else { throw AuthRefusal.invitationNeeded }
            guard let token = OneTimeToken(text, for: .invitation),
                try await store.holds(invitation: token, at: time)
            else { throw AuthRefusal.invalidInvitation }
            return token
        }
    }

    func signIn(_ entry: Entry, from caller: Caller) async throws -> JSON {
        try await refusing(as: .signInRefused, caller) { subject in
            try await limit(caller)
            try requirePasswords()
            try await limit(account: entry.email)
            let account = try await store.account(email: entry.email)
            subject.account = account?.id
            guard try await isRight(entry.password, account?.passwordIfEnabled), let account else {
                throw AuthRefusal.wrongPassword
            }
            try await forgive(entry.email)
            if account.isDisabled { throw AuthRefusal.accountDisabled }
            let session = newSession(account.id, entry.device)
            // Nil if the password was changed or the account deleted during the check.
            guard
                let ended = try await store.begin(
                    session, of: account, by: nil, isOnlyOne: settings.allowsOneDeviceOnly)
            else { throw AuthRefusal.wrongPassword }
            for session in ended { announce(account.id, session, .signedInElsewhere, caller) }
            return try await grant(session)
        }
    }

    /// - Throws: ``AuthRefusal`` if people sign in with identities only.
    func requirePasswords() throws {
        guard settings.signIn.allowsPasswords else { throw AuthRefusal.passwordsOff }
    }

    func limit(_ caller: Caller) async throws { try await limit(.address, caller.throttleKey) }

    /// The limit also applies to addresses without an account, so it does not reveal which addresses have an account.
    func limit(account email: String) async throws { try await limit(.account, email.lowercased()) }

    func limit(_ kind: AttemptKind, _ key: String) async throws {
        guard let rate = settings.attempts[kind], let wait = try await attempts.attempt(kind, key, rate) else { return }
        throw AuthRefusal.tooMany(wait)
    }

    func forgive(_ email: String) async throws { try await attempts.forgive(.account, email.lowercased()) }

    func hash(_ password: String) async throws -> String {
        do { return try await passwords.hash(password) } catch is Passwords.Busy { throw AuthRefusal.busy }
    }

    func isRight(_ password: String, _ stored: String?) async throws -> Bool {
        do {
            return try await passwords.verify(password, against: stored)
        } catch is Passwords.Busy { throw AuthRefusal.busy }
    }

    func newSession(_ account: String, _ device: Device) -> SessionRecord {
        SessionRecord(
            account: account, id: "s" + makeID().plainText, deviceID: device.id, deviceName: device.name,
            salt: randomBytes(16), generation: 1, confirmed: 0, refreshedAt: time, begunAt: time)
    }

    /// > Source: RFC 6749 §5.1.
    func grant(_ session: SessionRecord) async throws -> JSON {
        let refresh = RefreshToken(session, number: session.generation, key: keys.refresh)
        return [
            "access_token": .string(try access.make(session, now: now())), "token_type": "Bearer",
            "expires_in": .int(Int64(access.lifetime)), "refresh_token": .string(refresh.text),
            "account_id": .string(session.account),
        ]
    }
}
