// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession
import OptimistTesting
import Testing

/// Refused sign-ups, and operations on an account.
@Suite(.timeLimit(.minutes(20)))
struct SessionAccountTests {
    private func session(
        store: any CredentialStore = .inMemory, _ answer: @escaping @Sendable (TransportRequest) -> TransportResponse
    ) -> (session: Session, transport: InMemoryTransport) {
        let transport = InMemoryTransport.unhurried { answer($0) }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            dependencies: Dependencies(clock: ManualClock()))
        return (session, transport)
    }

    private static func refusal(
        _ reason: String, _ status: HTTPResponse.Status = .badRequest, error: String = "invalid_request"
    ) -> TransportResponse {
        TransportResponse(status, #"{"error":"\#(error)","error_description":"x","reason":"\#(reason)"}"#)
    }

    // MARK: - Why a sign-up was refused

    @Test(arguments: [
        ("weak_password", OptimistError.Code.weakPassword), ("common_password", .commonPassword),
        ("password_is_address", .passwordIsAddress), ("invalid_password", .invalidPassword),
        ("email_taken", .emailTaken), ("invalid_email", .invalidEmail), ("sign_up_closed", .signUpClosed),
        ("invitation_needed", .invitationNeeded), ("invalid_invitation", .invalidInvitation),
    ])
    func `a refused sign-up has the server's reason and a message for it`(
        reason: String, code: OptimistError.Code
    ) async {
        let (session, _) = session { _ in Self.refusal(reason) }
        let error = await #expect(throws: OptimistError.self) {
            try await session.signUp(email: "ada@example.com", password: "secret")
        }
        #expect(error?.code == code && error?.serverReason == reason)
        #expect(error?.message != OptimistError.signInSentence && error?.message.isEmpty == false)
        #expect(session.account == nil)
    }

    @Test func `an unknown reason is reported with the general message`() async {
        let (session, _) = session { _ in Self.refusal("moon_phase") }
        let error = await #expect(throws: OptimistError.self) {
            try await session.signUp(email: "ada@example.com", password: "secret")
        }
        #expect(error?.code == .signInRefused && error?.serverReason == "moon_phase")
        #expect(error?.message == OptimistError.signInSentence)
    }

    @Test func `too many attempts are reported, with the time of the next one`() async {
        let (session, _) = session { _ in
            var answer = Self.refusal("x", .tooManyRequests)
            answer.head.headerFields[.retryAfter] = "8"
            return answer
        }
        let error = await #expect(throws: OptimistError.self) {
            try await session.signIn(email: "ada@example.com", password: "secret")
        }
        #expect(error?.code == .signInFailed && error?.remedy == .retry(after: .seconds(8)))
        #expect(error?.message == "There were too many attempts. Try again later.")
    }

    @Test func `an invitation is sent with a sign-up, and omitted if there is none`() async throws {
        let (session, transport) = session { _ in .tokens("1", account: "a1") }
        try await session.signUp(email: "ada@example.com", password: "secret", invitation: "i1..abc")
        try await session.signUp(email: "ada@example.com", password: "secret")
        let bodies = transport.requests.filter { $0.head.path == "/auth/sign-up" }
            .map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count == 2 && bodies[0].contains(#""invitation":"i1..abc""#))
        #expect(!bodies[1].contains("invitation"))
    }

    // MARK: - The account

    private static let list = #"""
        {"sessions":[
            {"id":"s2","device":"Tablet","signedInAt":null,"lastUsedAt":"2027-01-15T08:00:00.000Z","isCurrent":false},
            {"id":"s1","device":"Phone","signedInAt":"2027-01-14T08:00:00Z","lastUsedAt":"2027-01-14T08:00:00.500Z",
             "isCurrent":true}
        ]}
        """#

    @Test func `the account's sessions are listed, and one can be ended by its id`() async throws {
        let (session, transport) = session(store: InMemoryCredentialStore(.first)) { request in
            request.head.method == .get ? TransportResponse(.ok, Self.list) : TransportResponse(.ok, "{}")
        }
        let sessions = try await session.accountSessions()
        #expect(sessions.map(\.deviceName) == ["Tablet", "Phone"] && sessions.map(\.isCurrent) == [false, true])
        #expect(sessions[0].signedInAt == nil && sessions[1].signedInAt != nil)
        #expect(sessions[0].lastUsedAt == Date(timeIntervalSince1970: 1_800_000_000))
        try await session.endSession("s2")
        let last = try #require(transport.requests.last)
        #expect(last.head.method == .delete && last.head.path == "/auth/sessions/s2")
        #expect(last.head.headerFields[.authorization] == "Bearer access-1")
    }

    @Test func `a password change is sent once, whatever the answer, and keeps the user signed in`() async {
        let (session, transport) = session(store: InMemoryCredentialStore(.first)) { _ in
            Self.refusal("wrong_password", error: "invalid_grant")
        }
        let wrong = await #expect(throws: OptimistError.self) {
            try await session.changePassword(from: "old one here", to: "new one here")
        }
        #expect(wrong?.code == .wrongPassword && session.account != nil)
        #expect(transport.requests.count == 1)
        let (broken, attempts) = self.session(store: InMemoryCredentialStore(.first)) { _ in
            TransportResponse(.serviceUnavailable)
        }
        let failed = await #expect(throws: OptimistError.self) {
            try await broken.changePassword(from: "old one here", to: "new one here")
        }
        #expect(failed?.code == .accountRequestFailed && attempts.requests.count == 1)
    }

    @Test func `T3 deleting the account ends the session with its reason and erases the credentials`()
        async throws
    {
        let store = InMemoryCredentialStore(.first)
        let (session, transport) = session(store: store) { _ in TransportResponse(.ok, "{}") }
        try await session.deleteAccount(password: "old one here")
        #expect(session.state == .signedOut(.accountDeleted))
        #expect(transport.requests.last?.head.path == "/auth/delete-account")
        let error = await #expect(throws: OptimistError.self) {
            _ = try await session.send(SessionRequest("/rows"))
        }
        #expect(error?.signOutReason == .accountDeleted && error?.message == "The account was deleted.")
    }

    @Test func `T3 deleting an account succeeds even if its event stream reports the deletion first`()
        async throws
    {
        let ending = Door()
        let server = FakeServer()
        let transport = InMemoryTransport.unhurried { request in
            guard request.head.path == "/auth/delete-account" else { return try await server.handle(request) }
            await ending.pass()
            return TransportResponse(.ok, "{}")
        }
        let session = Session(
            server: Bench.address, transport: transport, credentials: InMemoryCredentialStore(.first),
            dependencies: Dependencies(clock: ManualClock()))
        let deleting = Task { try await session.deleteAccount(password: "old one here") }
        await ending.knock()
        session.end(.accountDeleted)
        try await deleting.value
        ending.open()
        #expect(session.state == .signedOut(.accountDeleted))
    }

    @Test(arguments: [SignOutReason.accountDeleted, .passwordChanged])
    func `T3 if the server ends a session because of the account, the session ends once, with the server's reason`(
        reason: SignOutReason
    ) async throws {
        let bench = Bench()
        bench.server.onRequest {
            TransportResponse(.unauthorized, #"{"error":"invalid_token","reason":"\#(reason)"}"#)
        }
        #expect(await bench.send(1).first?.error?.signOutReason == reason)
        #expect(bench.session.state == .signedOut(reason) && bench.server.refreshes == 0)
    }

    @Test func `a password can be reset while the user is signed out`() async throws {
        let (session, transport) = session { request in
            request.head.path == "/auth/reset-password" ? Self.refusal("invalid_reset") : TransportResponse(.accepted)
        }
        try await session.requestPasswordReset(email: "ada@example.com")
        let error = await #expect(throws: OptimistError.self) {
            try await session.resetPassword(token: "p1.a1.abc", to: "new one here")
        }
        #expect(error?.code == .invalidReset)
        #expect(transport.requests.allSatisfy { $0.head.headerFields[.authorization] == nil })
        #expect(transport.requests.map(\.head.path) == ["/auth/forgot-password", "/auth/reset-password"])
    }
}

extension OptimistError {
    fileprivate static let signInSentence = "The server did not accept this e-mail address and password."
}
