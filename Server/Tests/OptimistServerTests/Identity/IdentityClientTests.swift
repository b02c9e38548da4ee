// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire
import Testing

@testable import OptimistServer
@testable import OptimistSession

/// The client's session with a provider's tokens on a real server.
@Suite(.timeLimit(.minutes(20)))
struct IdentityClientTests {
    private let site = Site()

    @Test func `I9 a user signs in on two devices, adds a second provider, and deletes the account`() async throws {
        let (apple, google) = (
            FakeIssuer(site, name: "apple", joinsByEmail: true),
            FakeIssuer(site, name: "google", issuer: "https://google.example.org")
        )
        try await site.serving(change: { FakeIssuer.use([apple, google], &$0) }) { server, http async throws in
            let address = try #require(URL(string: http.base))
            func device() -> Session {
                Session(server: address, transport: AsyncHTTPClientTransport.shared, credentials: .inMemory)
            }
            let (phone, tablet) = (device(), device())
            let token = try apple.token("ann", ["email": "ann@example.org", "email_verified": "true", "nonce": "n"])
            let account = try await phone.signIn(identityToken: token, nonce: "n")
            #expect(account.email == "ann@example.org")
            site.advance(by: 1)
            try await phone.linkIdentity(
                identityToken: google.token("ann-2"), confirmedBy: .identity(token: apple.token("ann")))
            #expect(try await tablet.signIn(identityToken: google.token("ann-2")) == account)
            let list = try await tablet.identities()
            #expect(list.identities.map(\.provider) == ["apple", "google"] && !list.hasPassword)
            try await tablet.unlinkIdentity(
                list.identities[0].id, confirmedBy: .identity(token: google.token("ann-2")))
            let last = await #expect(throws: OptimistError.self) {
                try await tablet.unlinkIdentity(
                    list.identities[1].id, confirmedBy: .identity(token: google.token("ann-2")))
            }
            #expect(last?.code == .lastWayIn)
            let foreign = await #expect(throws: OptimistError.self) {
                try await phone.deleteAccount(identityToken: apple.token("ann"))
            }
            #expect(foreign?.code == .foreignIdentity)
            try await phone.deleteAccount(identityToken: google.token("ann-2"))
            #expect(phone.state == .signedOut(.accountDeleted))
            let gone = await #expect(throws: OptimistError.self) { _ = try await tablet.accountSessions() }
            #expect(gone?.signOutReason == .accountDeleted)
        }
    }

    @Test func `I9 the client has a code and a sentence for each reason of the server`() {
        for reason in TokenRefusal.allCases {
            #expect(OptimistError.identityReasons[reason.rawValue] != nil, "\(reason)")
            #expect(reason.sentence.hasSuffix("."))
        }
        let refusals: [AuthRefusal] = [
            .accountExists, .identityTaken, .tooManyIdentities, .foreignIdentity, .lastWayIn, .identitiesOff,
            .passwordsOff, .passwordNeeded,
        ]
        for refusal in refusals {
            #expect(OptimistError.identityReasons[refusal.reason ?? ""] != nil, "\(refusal)")
        }
    }
}
