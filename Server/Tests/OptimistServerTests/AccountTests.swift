// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistServer

/// Accounts and sessions over loopback.
@Suite(.timeLimit(.minutes(20)))
struct AccountTests {
    let site = Site()

    private func refresh(_ http: HTTPSide, _ token: String) async throws -> HTTPSide.Answer {
        try await http.form("/auth/token", "grant_type=refresh_token&refresh_token=\(token)")
    }

    private func status(_ http: HTTPSide, _ token: String) async throws -> Int {
        try await http.get("/.well-known/jmap", token: token).status
    }

    @Test func `signing up and signing in return tokens, and errors name the cause`() async throws {
        try await site.serving { server, http async throws in
            let answer = try await http.post("/auth/sign-up", JSON.entry("Ann@example.org"))
            #expect(answer.status == 201 && answer.json["expires_in"] == 900 && answer.json["token_type"] == "Bearer")
            #expect(answer.headers["cache-control"] == ["no-store"])
            let again = try await http.post("/auth/sign-up", JSON.entry("ann@EXAMPLE.org"))
            #expect(again.status == 400 && again.json["reason"] == "email_taken")
            let weak = try await http.post("/auth/sign-up", JSON.entry("b@example.org", password: "short"))
            #expect(weak.status == 400 && weak.json["reason"] == "weak_password")
            #expect(try await http.post("/auth/sign-up", JSON.entry("nobody")).json["reason"] == "invalid_email")
            #expect(try await http.post("/auth/sign-up", ["email": "x@y.z"]).json["error"] == "invalid_request")
            let wrong = try await http.post("/auth/sign-in", JSON.entry("ann@example.org", password: "wrong horse"))
            #expect(wrong.status == 400 && wrong.json["error"] == "invalid_grant" && wrong.json["reason"] == nil)
            let unknown = try await http.post("/auth/sign-in", JSON.entry("nobody@example.org"))
            #expect(unknown.json == wrong.json)
            let right = try await http.post("/auth/sign-in", JSON.entry("ann@example.org", device: "tablet"))
            #expect(right.status == 200 && right.json["account_id"] == answer.json["account_id"])
            #expect(try await server.accounts().map(\.email) == ["Ann@example.org"])
        }
    }

    @Test func `T10: refresh tokens rotate, and reusing an old one ends the session immediately with its reason`()
        async throws
    {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            let second = try Person(await refresh(http, person.refresh).json)
            #expect(second.refresh != person.refresh)
            let third = try Person(await refresh(http, second.refresh).json)
            #expect(try await status(http, third.access) == 200)
            let reuse = try await refresh(http, person.refresh)
            #expect(
                reuse.status == 400 && reuse.json["error"] == "invalid_grant"
                    && reuse.json["reason"] == "reuse_detected")
            let ended = try await http.get("/.well-known/jmap", token: third.access)
            #expect(ended.status == 401 && ended.json["reason"] == "reuse_detected")
            #expect(ended.headers["www-authenticate"].first?.contains("reason=\"reuse_detected\"") == true)
            #expect(try await refresh(http, third.refresh).json["reason"] == "reuse_detected")
        }
    }

    @Test func `T10: a lost refresh answer may be requested again until its access token is used`() async throws {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            let lost = try Person(await refresh(http, person.refresh).json)
            site.advance(by: 30)
            let repeated = try Person(await refresh(http, person.refresh).json)
            #expect(repeated.refresh == lost.refresh)
            #expect(try await status(http, repeated.access) == 200)
            #expect(try await refresh(http, person.refresh).json["reason"] == "reuse_detected")
            #expect(try await status(http, repeated.access) == 401)
        }
    }

    @Test func `T10: used refresh tokens are remembered through a restart`() async throws {
        let (first, second) = try await site.serving { _, http async throws in
            let person = try await http.signUp()
            let next = try Person(await refresh(http, person.refresh).json)
            #expect(try await status(http, next.access) == 200)
            return (person, next)
        }
        try await site.serving { _, http async throws in
            #expect(try await status(http, second.access) == 200)
            #expect(try await refresh(http, first.refresh).json["reason"] == "reuse_detected")
        }
    }

    @Test func `revoking by either token ends the session immediately and never fails`() async throws {
        try await site.serving { _, http async throws in
            let (one, two) = (try await http.signUp("a@x.org"), try await http.signUp("b@x.org"))
            #expect(try await status(http, one.access) == 200)
            #expect(try await http.form("/auth/revoke", "token=\(one.refresh)").status == 200)
            #expect(try await http.get("/.well-known/jmap", token: one.access).json["reason"] == "revoked")
            #expect(try await refresh(http, one.refresh).json["reason"] == "revoked")
            #expect(try await http.form("/auth/revoke", "token=\(two.access)").status == 200)
            #expect(try await status(http, two.access) == 401)
            #expect(try await http.form("/auth/revoke", "token=nonsense").status == 200)
        }
    }

    @Test func `signing in again on a device replaces only that device's session`() async throws {
        try await site.serving { _, http async throws in
            let phone = try await http.signUp(device: "phone")
            let tablet = try Person(
                await http.post("/auth/sign-in", JSON.entry("a@example.org", device: "tablet")).json)
            let again = try Person(await http.post("/auth/sign-in", JSON.entry("a@example.org", device: "phone")).json)
            #expect(
                try await http.get("/.well-known/jmap", token: phone.access).json["reason"] == "signed_in_elsewhere")
            #expect(try await status(http, tablet.access) == 200)
            #expect(try await status(http, again.access) == 200)
        }
    }

    @Test func `if one device is allowed, signing in ends the other sessions`() async throws {
        try await site.serving(change: { $0.allowsOneDeviceOnly = true }) { _, http async throws in
            let phone = try await http.signUp(device: "phone")
            _ = try await http.post("/auth/sign-in", JSON.entry("a@example.org", device: "tablet"))
            #expect(try await refresh(http, phone.refresh).json["reason"] == "signed_in_elsewhere")
        }
    }

    @Test func `a session that was idle for too long ends with its reason`() async throws {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            site.advance(by: 61 * 86_400)
            #expect(try await refresh(http, person.refresh).json["reason"] == "refresh_expired")
        }
    }

    @Test func `sign-in attempts are limited by account and by address, with a Retry-After`() async throws {
        try await site.serving(change: { ($0.signInBurstPerAccount, $0.signInBurstPerAddress) = (2, 5) }) {
            _, http async throws in
            _ = try await http.signUp()
            for _ in 0..<2 {
                let wrong = JSON.entry("a@example.org", password: "wrong horse")
                #expect(try await http.post("/auth/sign-in", wrong).status == 400)
            }
            let limited = try await http.post("/auth/sign-in", JSON.entry("a@example.org"))
            #expect(limited.status == 429)
            #expect(limited.headers["retry-after"].first.flatMap { Int($0) }.map { $0 > 0 } == true)
            #expect(try await http.post("/auth/sign-in", JSON.entry("b@example.org")).status == 400)
            #expect(try await http.post("/auth/sign-in", JSON.entry("c@example.org")).status == 429)
        }
    }

    @Test(.embedded) func `sign-in attempts are allowed again after a while`() async throws {
        try await site.serving(change: { $0.signInBurstPerAccount = 1 }) { _, http async throws in
            _ = try await http.signUp()
            let wrong = JSON.entry("a@example.org", password: "wrong horse")
            #expect(try await http.post("/auth/sign-in", wrong).status == 400)
            #expect(try await http.post("/auth/sign-in", JSON.entry("a@example.org")).status == 429)
            site.clock.advance(by: .seconds(11))
            #expect(try await http.post("/auth/sign-in", JSON.entry("a@example.org")).status == 200)
        }
    }

    @Test func `behind a proxy, attempts count by the address the proxy saw`() async throws {
        try await site.serving(change: { ($0.isBehindProxy, $0.signInBurstPerAddress) = (true, 1) }) {
            _, http async throws in
            func attempt(_ forwarded: String) async throws -> Int {
                try await http.post("/auth/sign-in", JSON.entry("x@example.org"), forwardedFor: forwarded).status
            }
            #expect(try await attempt("10.0.0.1") == 400)
            #expect(try await attempt("10.0.0.1") == 429)
            #expect(try await attempt("6.6.6.6, 10.0.0.1") == 429)
            #expect(try await attempt("10.0.0.1, 10.0.0.2") == 400)
        }
    }

    @Test func `an invalid token request is refused with its error`() async throws {
        try await site.serving { _, http async throws in
            #expect(try await http.form("/auth/token", "grant_type=password").json["error"] == "unsupported_grant_type")
            #expect(try await http.form("/auth/token", "grant_type=refresh_token").json["error"] == "invalid_request")
            #expect(try await refresh(http, "nonsense").json["error"] == "invalid_grant")
            #expect(try await refresh(http, "r1.a.b.1.AAAA").json["error"] == "invalid_grant")
        }
    }
}
