// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import OptimistServer

/// An operator sees one log line for each refusal.
@Suite(.timeLimit(.minutes(20)))
struct RefusalLogTests {
    private let site = Site()
    private let book = LogBook()

    @Test func `each refused account operation is one log line, whatever its reason`() async throws {
        try await site.serving(change: { $0.logger = book.logger }) { server, http async throws in
            let phone = try await http.signUp()
            let token = try #require(await server.carryOut(.reset(email: "a@example.org"))["token"])
            let known = JSON.entry("a@example.org", password: "wrong horse")
            let cases: [(path: String, body: JSON, reason: JSON?, event: String, isNamed: Bool)] = [
                ("sign-up", known, "email_taken", "sign_up_refused", false),
                (
                    "sign-up", JSON.entry("b@example.org", password: "password"), "common_password", "sign_up_refused",
                    false
                ),
                ("sign-in", known, nil, "sign_in_refused", true),
                ("sign-in", JSON.entry("b@example.org"), nil, "sign_in_refused", false),
                (
                    "password", ["password": "wrong horse", "newPassword": "battery staple"], "wrong_password",
                    "password_refused", true
                ),
                (
                    "password", ["password": "correct horse", "newPassword": "short"], "weak_password",
                    "password_refused", true
                ),
                ("delete-account", ["password": "wrong horse"], "wrong_password", "password_refused", true),
                ("forgot-password", ["email": "a@example.org"], "reset_unavailable", "reset_refused", false),
                (
                    "reset-password", ["token": "p1.a1.AAAA", "newPassword": "battery staple"], "invalid_reset",
                    "reset_refused", false
                ),
                (
                    "reset-password", ["token": token, "newPassword": "password"], "common_password", "reset_refused",
                    true
                ),
            ]
            for (path, body, reason, event, isNamed) in cases {
                let before = book.lines.count
                let answer = try await http.post("/auth/\(path)", body, token: phone.access)
                #expect((400..<500).contains(answer.status) && answer.json["reason"] == reason, "\(path)")
                let lines = book.lines.dropFirst(before)
                #expect(lines.map { $0.metadata["security.event"] } == [event], "\(path), \(reason ?? .null)")
                #expect(lines.first?.metadata["account.id"] == (isNamed ? phone.account : nil), "\(path)")
            }
            #expect(!"\(book.lines)".contains("horse") && !"\(book.lines)".contains("example.org"))
        }
    }

    @Test(
        .embedded,
        arguments: [
            ("sign-in", "sign_in_refused"), ("password", "password_refused"), ("delete-account", "password_refused"),
            ("reset-password", "reset_refused"),
        ])
    func `a password change refuses operations whose old password is still being checked, in one line each`(
        operation: String, event: String
    ) async throws {
        try await site.serving(change: { $0.logger = book.logger }) { server, http async throws in
            let phone = try await http.signUp()
            #expect(try await http.get("/.well-known/jmap", token: phone.access).status == 200)
            let (accounts, commits) = (server.registry, try server.commits)
            let account = try #require(try await accounts.store.account(email: "a@example.org"))
            let token = try #require(await server.carryOut(.reset(email: "a@example.org"))["token"])
            let bodies: [String: JSON] = [
                "sign-in": JSON.entry("a@example.org"),
                "password": ["password": "correct horse", "newPassword": "battery staple"],
                "delete-account": ["password": "correct horse"],
                "reset-password": ["token": token, "newPassword": "battery staple"],
            ]
            let body = try #require(bodies[operation])
            let gate = try await site.holdWriter(of: server)
            defer { gate.signal() }
            let changing = Task {
                try await accounts.store.setPassword(of: account, to: "another", keeping: nil, at: 0)
            }
            while commits.waitingCount < 1 { await Task.yield() }
            let asking = Task { try await http.post("/auth/\(operation)", body, token: phone.access) }
            // The password is correct as far as the readers know.
            while commits.waitingCount < 2 { await Task.yield() }
            gate.signal()
            #expect(try await changing.value != nil)
            #expect(try await asking.value.status == 400)
            #expect(book.events == [event])
            #expect(book.lines.first?.metadata["account.id"] == account.id)
        }
    }
}
