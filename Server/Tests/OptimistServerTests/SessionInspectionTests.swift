// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire
import Testing

@testable import OptimistServer

/// What an operator sees of sessions and can do to them.
@Suite(.timeLimit(.minutes(20)))
struct SessionInspectionTests {
    let site = Site()

    private func refreshed(_ person: Person, _ http: HTTPSide) async throws -> Person {
        try Person(
            await http.form("/auth/token", "grant_type=refresh_token&refresh_token=\(person.refresh)").json)
    }

    @Test func `T1: a token expired by the operator is refused as expired, and its successor is accepted`() async throws
    {
        try await site.serving { server, http async throws in
            let (first, other) = (try await http.signUp("a@x.org"), try await http.signUp("b@x.org"))
            #expect(try await http.get("/.well-known/jmap", token: first.access).status == 200)
            server.expire(accessToken: first.access)
            let refused = try await http.get("/.well-known/jmap", token: first.access)
            #expect(refused.status == 401 && refused.json["error"] == "invalid_token")
            #expect(refused.json["reason"] == nil, "the session goes on")
            let session = try #require(await server.session(accessToken: first.access))
            #expect(!session.acceptsToken && session.endReason == nil && session.refreshes == 0)
            let second = try await refreshed(first, http)
            #expect(try await http.get("/.well-known/jmap", token: second.access).status == 200)
            #expect(try await http.get("/.well-known/jmap", token: other.access).status == 200)
            #expect(try await http.get("/.well-known/jmap", token: first.access).status == 401)
            let renewed = try #require(await server.session(accessToken: second.access))
            #expect(renewed.acceptsToken && renewed.refreshes == 1 && renewed.id == session.id)
            server.expire(accessToken: "nonsense")
        }
    }

    @Test func `a session is found by a token of any age, but only by the server's own tokens`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            site.advance(by: 901)
            let session = try #require(await server.session(accessToken: person.access))
            #expect(!session.acceptsToken && session.account == person.account && session.endReason == nil)
            #expect(try await server.session(accessToken: "nonsense") == nil)
            #expect(try await server.session(accessToken: person.refresh) == nil)
        }
    }

    @Test func `T3: a session ended by an operator reports it on its stream and to every request`() async throws {
        try await site.serving { server, http async throws in
            let (phone, other) = (try await http.signUp("a@x.org"), try await http.signUp("b@x.org"))
            let session = try #require(await server.session(accessToken: phone.access))
            var reasons: [String?] = []
            try await http.events(token: phone.access) { event, data in
                if event == "session" { reasons.append(data["reason"]?.string) }
                if event == "state" { try await server.revoke(session) }
                return event == "session"
            }
            try await server.revoke(session)
            #expect(reasons == ["revoked"])
            #expect(try await server.session(accessToken: phone.access)?.endReason == "revoked")
            let refusal = await #expect(throws: Unauthorized.self) {
                _ = try await server.registry.identify(phone.access)
            }
            #expect(refusal?.end == .revoked)
            #expect(try await server.registry.identify(other.access).account == other.account)
        }
    }
}
