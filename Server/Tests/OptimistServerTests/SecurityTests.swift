// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The server's defences, and their log lines.
@Suite(.timeLimit(.minutes(20)))
struct SecurityTests {
    private let site = Site()
    private let book = LogBook()

    // MARK: - Passwords

    @Test(arguments: [
        "password", "Password1", "iloveyou!", "qwertyuiop", "12345678", "87654321", "aaaaaaaa", "abcabcabc",
        "1q2w3e4r5t",
        "Football12!", "p@ssw0rd", "asdfghjkl", "zaq12wsx", "123password", "11223344",
    ])
    func `a common password is refused with its reason`(password: String) {
        #expect(refusal(of: password) == "common_password")
    }

    @Test(arguments: [
        "correct horse", "lab-0b5c", "passwordless", "dragonfly pond", "monkeys on a wire", "long enough",
        "12 sheep asleep",
    ])
    func `an uncommon password is accepted`(password: String) {
        #expect(refusal(of: password) == nil)
    }

    @Test func `neither the user's email address nor its first part can be the password`() {
        #expect(refusal(of: "Ann.Baker@example.org") == "password_is_address")
        #expect(refusal(of: "ann.baker") == "password_is_address")
        #expect(refusal(of: "ann.baker was here") == nil)
    }

    @Test func `a password chosen before it counted as common still works`() async throws {
        try await site.serving { server, http async throws in
            _ = try await http.signUp()
            let account = try #require(try await server.registry.store.account(email: "a@example.org"))
            let hash = try await server.registry.hash("password")
            _ = try await server.registry.store.setPassword(of: account, to: hash, keeping: nil, at: 0)
            let entry = JSON.entry("a@example.org", password: "password")
            #expect(try await http.post("/auth/sign-in", entry).status == 200)
        }
    }

    private func refusal(of password: String) -> String? {
        do {
            try PasswordRules.check(password, email: "ann.baker@example.org")
            return nil
        } catch { return error.reason }
    }

    // MARK: - Throttles

    @Test func `the limits treat a /64 as one address, and all forms of an IPv4 address as one`() {
        func key(_ address: String) -> String { Caller(address: address).throttleKey }
        #expect(key("2001:db8:1:2::1") == key("2001:db8:1:2:ffff:1:2:3"))
        #expect(key("2001:db8:1:2::1") != key("2001:db8:1:3::1"))
        #expect(key("[2001:db8:1:2::1]:4711") == key("2001:0db8:0001:0002::1"))
        #expect(key("fe80::1%eth0") == key("fe80::2"))
        #expect(key("::ffff:192.0.2.7") == "192.0.2.7" && key("192.0.2.7") != key("192.0.2.8"))
        #expect(key("unknown") == "unknown")
    }

    @Test func `a client with an entire /64 gets no more attempts than one with a single address`() async throws {
        try await site.serving(change: { ($0.isBehindProxy, $0.signInBurstPerAddress) = (true, 2) }) {
            _, http async throws in
            var statuses: [Int] = []
            for number in 1...4 {
                statuses.append(
                    try await http.post(
                        "/auth/sign-in", JSON.entry("x@example.org"), forwardedFor: "2001:db8::\(number)"
                    ).status)
            }
            #expect(statuses == [400, 400, 429, 429])
        }
    }

    // MARK: - The log

    @Test func `refused and throttled sign-ins, reuse and revocation are one line each, without a secret`()
        async throws
    {
        try await site.serving(change: {
            ($0.logger, $0.signInBurstPerAccount) = (book.logger, 2)
        }) { _, http async throws in
            let phone = try await http.signUp()
            let wrong = JSON.entry("a@example.org", password: "wrong horse")
            let refused = try await http.post("/auth/sign-in", wrong)
            _ = try await http.post("/auth/sign-in", wrong)
            #expect(try await http.post("/auth/sign-in", wrong).status == 429)
            let form = "grant_type=refresh_token&refresh_token="
            let second = try Person(await http.form("/auth/token", form + phone.refresh).json)
            _ = try await http.form("/auth/token", form + second.refresh)
            for _ in 1...2 { _ = try await http.form("/auth/token", form + phone.refresh) }
            let other = try await http.signUp("b@example.org")
            for _ in 1...2 { _ = try await http.form("/auth/revoke", "token=\(other.refresh)") }
            #expect(
                book.events == [
                    "sign_in_refused", "sign_in_refused", "throttled", "refresh_token_reused", "session_ended",
                ])
            let lines = book.lines.filter { $0.metadata["security.event"] != nil }
            #expect(lines[0].metadata["account.id"] == phone.account)
            #expect(lines[0].metadata["client.address"] == "127.0.0.1")
            #expect(lines[0].metadata["request.id"] == refused.headers["x-request-id"].first)
            #expect(lines[3].level == .warning && lines[4].metadata["session.end"] == "revoked")
            let text = "\(book.lines)"
            #expect(!text.contains("horse") && !text.contains("r1.") && !text.contains("example.org"))
        }
    }

    @Test func `every answer has an id; a trusted proxy's own is kept if it is safe to log`() async throws {
        try await site.serving { _, http async throws in
            let first = try await http.get("/healthz").headers["x-request-id"]
            let second = try await http.get("/nowhere").headers["x-request-id"]
            #expect(first.count == 1 && second.count == 1 && first != second)
            let foreign = try await http.get("/healthz", headers: ["x-request-id": "mine"])
            #expect(foreign.headers["x-request-id"] != ["mine"], "nobody but a proxy names requests")
        }
        try await site.serving(change: { $0.isBehindProxy = true }) { _, http async throws in
            func id(_ given: String) async throws -> [String] {
                try await http.get("/healthz", headers: ["x-request-id": given]).headers["x-request-id"]
            }
            #expect(try await id("7f3a-B_9") == ["7f3a-B_9"])
            #expect(try await id("a b\tc") != ["a b\tc"])
            #expect(try await id(String(repeating: "x", count: 65)).first?.count != 65)
        }
    }

    // MARK: - TLS

    @Test func `behind a proxy with TLS, answers require clients to use TLS`() async throws {
        let secure = ["x-forwarded-proto": "https"]
        try await site.serving(change: { $0.isBehindProxy = true }) { _, http async throws in
            let answer = try await http.get("/healthz", headers: secure)
            #expect(answer.headers["strict-transport-security"] == ["max-age=31536000"])
            let refused = try await http.get("/.well-known/jmap", headers: secure)
            #expect(refused.status == 401 && !refused.headers["strict-transport-security"].isEmpty)
            #expect(try await http.get("/healthz").headers["strict-transport-security"].isEmpty)
        }
        try await site.serving { _, http async throws in
            #expect(try await http.get("/healthz", headers: secure).headers["strict-transport-security"].isEmpty)
        }
    }

    @Test(
        .embedded,
        arguments: [
            ("127.0.0.1", Exposure.loopback), ("127.1.2.3", .loopback), ("localhost", .loopback), ("::1", .loopback),
            ("0.0.0.0", .network), ("::", .network), ("192.168.1.5", .network), ("127.0.0.1.example.org", .network),
        ])
    func `an address that other machines can reach is recognized`(host: String, exposure: Exposure) {
        var configuration = ServerConfiguration(host: host, storage: .directory(site.directory), schema: .planner)
        #expect(configuration.exposure == exposure)
        configuration.isBehindProxy = true
        #expect(configuration.exposure == (exposure == .loopback ? .loopback : .pastProxy))
    }

    @Test func `a reachable server without TLS warns once`() async throws {
        // A documentation address: no machine has it, so the server cannot listen.
        let server = try await site.open { ($0.logger, $0.host) = (book.logger, "192.0.2.1") }
        await #expect(throws: (any Error).self) { try await server.run() }
        let warnings = book.lines.filter { $0.message.contains("without TLS") }
        #expect(warnings.count == 1 && warnings.first?.level == .warning)
        for word in ["passwords", "tokens", "row", "--behind-proxy"] {
            #expect(warnings.first?.message.contains(word) == true)
        }
    }

    // MARK: - Tokens

    @Test(arguments: [
        (#"{"alg":"HS256","typ":"JWT"}"#, true), (#"{"alg":"none"}"#, false), (#"{"alg":"HS512"}"#, false),
        (#"{"alg":"RS256"}"#, false), (#"{"typ":"JWT"}"#, false), (#"{"alg":"HS256","crit":["exp"]}"#, false),
        (#"{"alg":"HS256","crit":[]}"#, false), (#"not json"#, false),
    ])
    func `a token is accepted only if its header names the server's algorithm`(header: String, isOurs: Bool) {
        let key = SecretKey(Array(repeating: 7, count: 32))
        let tokens = AccessTokens(key: key, lifetime: 900)
        let claims = #"{"sub":"a1","sid":"s1","gen":1,"iat":1800000000,"exp":1800000900}"#
        let signed = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
        let token = "\(signed).\(Base64URL.encode(HMACSHA256.code(for: signed.utf8, key: key)))"
        let read = tokens.claims(of: token, now: Date(timeIntervalSince1970: 1_800_000_001))
        #expect((read != nil) == isOurs)
    }
}
