// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSession

/// The ways to sign in to the account of a phone, and its deletion, which one of them confirms.
struct PhoneIdentities: Sendable {
    let device: LabDevice
    let providers: SimulatedProviders

    /// Deletes the account. The next sign-in on a phone creates it again, and the phone starts a new file.
    func deleteAccount() async throws {
        let session = try await device.phone().session
        if let (token, nonce) = try await proof(for: session) {
            try await session.deleteAccount(identityToken: token, nonce: nonce)
        } else {
            try await session.deleteAccount(password: device.account.password)
        }
        device.news.tell(.session, "deleted the account")
    }

    /// Signs in as the user of the phone's account, who has one identity with each provider.
    func signIn(with provider: String) async throws {
        let (token, nonce) = try token(of: provider)
        let account = try await device.phone().session.signIn(identityToken: token, nonce: nonce)
        try await device.beginFile(for: account)
    }

    func all() async throws -> AccountIdentities { try await device.phone().session.identities() }

    func link(_ provider: String) async throws {
        let (token, nonce) = try token(of: provider)
        let session = try await device.phone().session
        try await session.linkIdentity(identityToken: token, nonce: nonce, confirmedBy: confirmation(for: session))
        device.news.tell(.session, "added \(provider)")
    }

    func unlink(_ identity: String) async throws {
        let session = try await device.phone().session
        try await session.unlinkIdentity(identity, confirmedBy: confirmation(for: session))
        device.news.tell(.session, "removed a way to sign in")
    }

    private func confirmation(for session: Session) async throws -> AccountConfirmation {
        guard let (token, nonce) = try await proof(for: session) else { return .password(device.account.password) }
        return .identity(token: token, nonce: nonce)
    }

    /// A fresh token of the account's first identity. Nil if the account has a password.
    private func proof(for session: Session) async throws -> (token: String, nonce: String)? {
        let ways = try await session.identities()
        return ways.hasPassword ? nil : try token(of: ways.identities.first?.provider ?? "")
    }

    private func token(of provider: String) throws -> (token: String, nonce: String) {
        let nonce = UUID().uuidString
        return (try providers.token(of: provider, for: device.account.name, nonce: nonce), nonce)
    }
}
