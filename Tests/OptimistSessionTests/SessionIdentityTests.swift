// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession
import OptimistTesting
import Testing

/// Signing in with a provider's identity token, and the account's identities.
@Suite(.timeLimit(.minutes(20)))
struct SessionIdentityTests {
    private func session(
        store: any CredentialStore = .inMemory, _ answer: @escaping @Sendable (TransportRequest) -> TransportResponse
    ) -> (session: Session, transport: InMemoryTransport) {
        let transport = InMemoryTransport.unhurried { answer($0) }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            dependencies: Dependencies(clock: ManualClock()))
        return (session, transport)
    }

    private static func refusal(_ reason: String) -> TransportResponse {
        TransportResponse(.badRequest, #"{"error":"invalid_request","error_description":"x","reason":"\#(reason)"}"#)
    }

    private static func grant(email: String) -> TransportResponse {
        TransportResponse(
            .ok,
            #"{"access_token":"a","refresh_token":"r","expires_in":900,"account_id":"a1","email":\#(email)}"#)
    }

    @Test(arguments: [("\"ada@example.com\"", "ada@example.com"), ("null", "")])
    func `I9 an identity token is sent once, as a token exchange, and signs in`(email: String, expected: String)
        async throws
    {
        let (session, transport) = session { _ in Self.grant(email: email) }
        let account = try await session.signIn(identityToken: "e.y.J", nonce: "n&1", invitation: "i1..abc")
        #expect(account == Account(id: "a1", email: expected) && session.account == account)
        let request = try #require(transport.requests.last)
        #expect(request.head.path == "/auth/token" && transport.requests.count == 1)
        #expect(request.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.head.headerFields[.authorization] == nil)
        let fields = String(decoding: request.body, as: UTF8.self).split(separator: "&").map(String.init)
        #expect(fields.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"))
        #expect(fields.contains("subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aid_token"))
        #expect(fields.contains("subject_token=e.y.J") && fields.contains("nonce=n%261"))
        let id = try await session.installID().uuidString.lowercased()
        #expect(fields.contains("invitation=i1..abc") && fields.contains("device_id=\(id)"))
        try await session.signIn(identityToken: "e.y.J")
        let plain = String(decoding: try #require(transport.requests.last).body, as: UTF8.self)
        #expect(!plain.contains("nonce") && !plain.contains("invitation"))
    }

    @Test(arguments: [
        ("token_used", OptimistError.Code.identityTokenExpired), ("token_expired", .identityTokenExpired),
        ("token_audience", .identityTokenRefused), ("token_signature", .identityTokenRefused),
        ("account_exists", .accountExists), ("sign_up_closed", .signUpClosed), ("identities_off", .identitiesOff),
        ("moon_phase", .signInRefused),
    ])
    func `I9 a refused identity token has a code and a sentence`(reason: String, code: OptimistError.Code) async {
        let (session, _) = session { _ in Self.refusal(reason) }
        let error = await #expect(throws: OptimistError.self) { try await session.signIn(identityToken: "t") }
        #expect(error?.code == code && error?.serverReason == reason)
        #expect(error?.message.hasSuffix(".") == true && error?.message.contains("password") == false)
        #expect(session.account == nil)
    }

    private static let entry =
        #"{"id":"i/1","issuer":"https://a.example","provider":"a","linkedAt":"2027-01-15T08:00:00.000Z"}"#

    @Test func `I9 identities are listed, added with a token, and removed by their id`() async throws {
        let (session, transport) = session(store: InMemoryCredentialStore(.first)) { request in
            switch request.head.method {
            case .get: TransportResponse(.ok, #"{"identities":[\#(Self.entry)],"hasPassword":false}"#)
            default: TransportResponse(.created, Self.entry.replacing(#""a","#, with: "null,"))
            }
        }
        let list = try await session.identities()
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        let identity = AccountIdentity(id: "i/1", issuer: "https://a.example", provider: "a", linkedAt: date)
        #expect(list == AccountIdentities(identities: [identity], hasPassword: false))
        let added = try await session.linkIdentity(
            identityToken: "e.y.J", nonce: "n", confirmedBy: .identity(token: "o.l.d", nonce: "m"))
        #expect(added.provider == nil && added.linkedAt == date)
        let request = try #require(transport.requests.last)
        let body = try JSONDecoder().decode(NewIdentity.self, from: Data(request.body))
        #expect(request.head.path == "/auth/identities" && body.identityToken == "e.y.J" && body.nonce == "n")
        #expect(body.confirmation == ["identityToken": "o.l.d", "nonce": "m"])
        try await session.unlinkIdentity("i/1", confirmedBy: .password("correct horse"))
        let last = try #require(transport.requests.last)
        #expect(last.head.method == .post && last.head.path == "/auth/identities/i%2F1/remove")
        let members = try JSONDecoder().decode([String: String].self, from: Data(last.body))
        #expect(members == ["password": "correct horse"])
    }

    private struct NewIdentity: Decodable {
        let identityToken: String
        let nonce: String?
        let confirmation: [String: String]
    }

    @Test func `T9 a confirmation does not show its secret`() {
        for confirmation in [AccountConfirmation.password("correct horse"), .identity(token: "e.y.J", nonce: "n1")] {
            var text = "\(confirmation) \(String(reflecting: confirmation))"
            dump(confirmation, to: &text)
            #expect(!text.contains("horse") && !text.contains("e.y.J") && !text.contains("n1"))
        }
    }

    @Test func `I9 an unknown identity, and the last way in, have their own codes`() async {
        let problem = #"{"type":"about:blank","status":404,"detail":"x"}"#
        let (missing, _) = session(store: InMemoryCredentialStore(.first)) { _ in
            var answer = TransportResponse(.notFound, problem)
            answer.head.headerFields[.contentType] = "application/problem+json"
            return answer
        }
        let unknown = await #expect(throws: OptimistError.self) {
            try await missing.unlinkIdentity("i1", confirmedBy: .password("p"))
        }
        #expect(unknown?.code == .unknownIdentity)
        let (session, _) = session(store: InMemoryCredentialStore(.first)) { _ in Self.refusal("last_way_in") }
        let last = await #expect(throws: OptimistError.self) {
            try await session.unlinkIdentity("i1", confirmedBy: .password("p"))
        }
        #expect(last?.code == .lastWayIn && session.account != nil)
    }

    @Test func `I9 a fresh identity token deletes the account of a user without a password`() async throws {
        let (session, transport) = session(store: InMemoryCredentialStore(.first)) { _ in TransportResponse(.ok, "{}") }
        try await session.deleteAccount(identityToken: "e.y.J", nonce: "n")
        #expect(session.state == .signedOut(.accountDeleted))
        let request = try #require(transport.requests.last)
        let members = try JSONDecoder().decode([String: String].self, from: Data(request.body))
        #expect(request.head.path == "/auth/delete-account" && members == ["identityToken": "e.y.J", "nonce": "n"])
    }
}
