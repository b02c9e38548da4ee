// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Addresses, passwords and other outside texts, on both stores.
@Suite(.timeLimit(.minutes(20)))
struct OutsideTextTests {
    private let site = Site()

    @Test(arguments: [
        (" ann@example.org\n", "ann@example.org"), ("Ann@Example.org", "Ann@Example.org"),
        ("ann@b\u{FC}cher.example", "ann@xn--bcher-kva.example"),
        ("ann@BU\u{308}CHER.example", "ann@xn--bcher-kva.example"),
        ("u\u{308}na@example.org", "\u{FC}na@example.org"), ("a+b@localhost", "a+b@localhost"),
        ("ann@\u{65E5}\u{672C}.jp", "ann@xn--wgv71a.jp"),
    ])
    func `O15 an email address is stored in one form`(text: String, kept: String) {
        #expect(EmailAddress(text)?.text.utf8.elementsEqual(kept.utf8) == true, "\(EmailAddress(text)?.text ?? "nil")")
    }

    @Test(arguments: [
        "", "@", "ann", "ann@", "@example.org", "a@b@c", "ann@example.org\0", "an\0n@example.org", "ann@exam ple.org",
        "ann@\u{FC}..example", "\u{202e}ann@example.org", "ann\u{200B}@example.org", "ann\r\nx: y@example.org",
        String(repeating: "a", count: 251) + "@b.c",
    ])
    func `O15 an invalid email address is refused`(text: String) {
        #expect(EmailAddress(text) == nil, "\(text.debugDescription)")
    }

    @Test func `O15 an address in another Unicode form or spelling of its domain is the same account`() async throws {
        try await site.serving { _, http async throws in
            #expect(try await http.post("/auth/sign-up", .entry("\u{FC}na@b\u{FC}cher.example")).status == 201)
            for other in [
                "u\u{308}na@b\u{FC}cher.example", "\u{FC}na@xn--bcher-kva.example", "\u{FC}na@BU\u{308}CHER.EXAMPLE",
            ] {
                #expect(try await http.post("/auth/sign-up", .entry(other)).json["reason"] == "email_taken")
                #expect(try await http.post("/auth/sign-in", .entry(other)).status == 200)
            }
        }
    }

    @Test func `O15 zero and control characters are refused at every route, and cannot evade a limit`()
        async throws
    {
        let change: (inout ServerConfiguration) -> Void = { configuration in
            configuration.deliverReset = { _ in }
            configuration.adminPort = 0
        }
        try await site.serving(change: change) { server, http async throws in
            let person = try await http.signUp("ann@example.org")
            let zero = "ann@example.org\0"
            for path in ["sign-up", "sign-in", "forgot-password"] {
                let answer = try await http.post("/auth/\(path)", JSON.entry(zero))
                #expect(answer.status == 400 && answer.json["reason"] == "invalid_email", "\(path)")
            }
            var entry = JSONObject(JSON.entry("b@example.org").object?.members.filter { $0.key != "device" } ?? [])
            entry.append("device", ["id": "d", "name": "Phone\u{1b}[2J"])
            #expect(try await http.post("/auth/sign-up", .object(entry)).json["reason"] == "invalid_text")
            for token in ["r1.a%00.s.1.x", "r1.%1b.s%00.1.x"] {
                let form = "grant_type=refresh_token&refresh_token=\(token)"
                #expect(try await http.form("/auth/token", form).status == 400)
            }
            let reset: JSON = ["token": "p1.a\0.x", "newPassword": "correct battery"]
            #expect(try await http.post("/auth/reset-password", reset).status == 400)
            for path in ["/auth/sessions/a%00", "/auth/sessions/%1b"] {
                let status = try await http.send("DELETE", path, token: person.access).status
                #expect(status == 400, "\(path)")
            }
            let after: JSON = ["snapshot": ["after": "a\0"]]
            #expect(try await server.call(person, "todo/changes", after)["type"] == "invalidArguments")
            let get = try await server.call(person, "todo/get", ["ids": ["a\0"]])
            #expect(get["notFound"] == ["a\0"])
            let admin = HTTPSide(base: "http://127.0.0.1:\(try #require(try await server.adminPort))")
            for path in ["/admin/api/accounts/a%00", "/admin/api/accounts?prefix=a%00", "/health?app=%00"] {
                #expect(try await admin.get(path).status == 400, "\(path)")
            }
        }
    }

    @Test func `O15 another Unicode form of a password is equal to it, and older unnormalized hashes stay valid`()
        async throws
    {
        let passwords = Passwords(cost: .trivial)
        let (composed, decomposed) = ("caf\u{E9} au lait", "cafe\u{301} au lait")
        for (set, typed) in [(composed, decomposed), (decomposed, composed), (composed, composed)] {
            #expect(try await passwords.verify(typed, against: passwords.hash(set)))
        }
        let early = try await passwords.hash("x").split(separator: "$").map(String.init)
        let salt = try #require(Base64URL.decode(early[4]))
        let key = try Scrypt.key(
            from: Array(decomposed.utf8), salt: salt, byteCount: 32, rounds: 16, blockSize: 1, parallelism: 1)
        let stored = (early[..<5] + [Base64URL.encode(key)]).joined(separator: "$")
        #expect(try await passwords.verify(decomposed, against: stored))
        #expect(try await !passwords.verify("cafe au lait", against: stored))
    }

    @Test(
        arguments: [
            ("1.2.3.4", "1.2.3.4"), (" 1.2.3.4:5678 ", "1.2.3.4"), ("2001:DB8::1", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"), ("fe80::1%eth0", "fe80::1"),
            ("unknown", nil), ("1.2.3.4:x", nil), ("1.2.3.4:99999", nil), ("[::1]x", nil), ("", nil),
            ("1.2.3.4 security.event=forged", nil), ("_hidden", nil),
        ] as [(String, String?)])
    func `O15 the address a proxy names is taken without its port`(entry: String, address: String?) {
        #expect(NetworkAddress.text(of: entry) == address)
    }

    @Test func `O15 another port behind a proxy does not count as another address`() async throws {
        try await site.serving { configuration in
            configuration.isBehindProxy = true
            configuration.signInBurstPerAddress = 3
        } _: { _, http async throws in
            var statuses: [Int] = []
            for port in 1...5 {
                let from = "192.0.2.1:\(port)"
                statuses.append(
                    try await http.post("/auth/sign-in", JSON.entry("x@example.org"), forwardedFor: from).status)
            }
            #expect(statuses.filter { $0 == 429 }.count >= 1, "\(statuses)")
        }
    }
}
