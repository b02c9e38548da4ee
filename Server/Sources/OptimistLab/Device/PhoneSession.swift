// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import OptimistSession

/// A phone's session as the phone and the server see it, and operations on the session. Tokens are never shown.
struct PhoneSession: Sendable {
    let device: LabDevice
    let server: OptimistServer

    /// Also describes the session of a phone that is off, because the phone's folder has the credentials.
    func answer() async throws -> SessionAnswer {
        let state = try? await device.phone().session.state
        var answer = SessionAnswer(state, device.diary.lastSignOut)
        // The credentials may not have been erased yet.
        if case .signedOut = state { return answer }
        guard let credentials = try device.credentials.load() else { return answer }
        answer.show(credentials, now: Date())
        if let session = try await server.session(accessToken: credentials.accessToken.exposed) {
            answer.show(session)
        }
        return answer
    }

    /// Makes the server refuse the access token, as if it had expired.
    func expire() async throws {
        let credentials = try kept()
        device.news.tell(.session, "its access token expires")
        server.expire(accessToken: credentials.accessToken.exposed)
        device.news.changed(.session)
    }

    /// Revokes the session on the server, as an operator can.
    func revoke() async throws {
        guard let session = try await server.session(accessToken: try kept().accessToken.exposed) else {
            throw nobody
        }
        device.news.tell(.session, "its session is revoked")
        try await server.revoke(session)
        device.news.changed(.session)
    }

    /// Signs in on a device that replaces this phone only.
    ///
    /// If an installation signs in again, every server ends the installation's earlier session. The new device
    /// therefore uses this phone's installation id: the server ends this phone's session, and the account's other
    /// phones stay signed in.
    func signInElsewhere() async throws {
        let email = try kept().account.email
        guard email.lowercased() == device.account.email.lowercased() else {
            throw OptimistError(.badLabRequest, "The lab does not know the password of \(email).")
        }
        guard let address = URL(string: "http://127.0.0.1:\(try await server.port)") else { return }
        let elsewhere = InMemoryCredentialStore()
        _ = elsewhere.installID(storingIfMissing: try device.credentials.installID(storingIfMissing: UUID()))
        let session = Session(
            server: address, transport: AsyncHTTPClientTransport.shared, credentials: elsewhere,
            configuration: SessionConfiguration(deviceName: "Elsewhere"))
        device.news.tell(.session, "its account signs in elsewhere")
        try await session.signIn(email: email, password: device.account.password)
        device.news.changed(.session)
    }

    // MARK: - The account, as the phone sees it

    func devices() async throws -> [AccountSession] { try await device.phone().session.accountSessions() }

    func end(_ session: String) async throws {
        try await device.phone().session.endSession(session)
        device.news.tell(.session, "ended another session")
    }

    /// Sets a random password, which the lab remembers, and signs the account's other phones out.
    func changePassword(in park: DevicePark) async throws {
        let password = "lab-\(UUID().uuidString.lowercased())"
        try await device.phone().session.changePassword(from: device.account.password, to: password)
        try await park.keep(password, of: device.account)
        device.news.tell(.session, "changed the password")
    }

    private func kept() throws -> Credentials {
        guard let credentials = try device.credentials.load() else { throw nobody }
        return credentials
    }

    private var nobody: OptimistError {
        OptimistError(.signedOut, "The phone \(device.name) is signed out.", remedy: .signIn)
    }
}
