// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistTesting
import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// Accounts after their creation: sign-up rules, password changes, sessions, deletion.
@Suite(.timeLimit(.minutes(20)))
struct AccountCareTests {
    private let site = Site()

    private func status(_ http: HTTPSide, _ person: Person) async throws -> Int {
        try await http.get("/.well-known/jmap", token: person.access).status
    }

    private func reason(_ http: HTTPSide, _ person: Person) async throws -> JSON? {
        try await http.get("/.well-known/jmap", token: person.access).json["reason"]
    }

    private func signIn(_ http: HTTPSide, _ password: String = "correct horse", device: String = "tablet")
        async throws -> HTTPSide.Answer
    {
        try await http.post("/auth/sign-in", JSON.entry("a@example.org", password: password, device: device))
    }

    @Test(.embedded) func `an account without an address is not listed, and there may be several`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        try await server.database.pool.write { db in
            for id in ["s1", "s2"] {
                try db.execute(
                    sql:
                        "INSERT INTO optimist_accounts (account_id, kind, password, created_at) VALUES (?, 'space', '', '')",
                    arguments: [id])
            }
        }
        let store = server.storage.accounts
        #expect(try await store.accounts().map(\.id) == [person.account])
        #expect(try await store.account(id: "s1") == nil)
        #expect(try await server.storage.rows.accounts(after: nil, limit: 9).count == 3)
    }

    // MARK: - Signing up

    @Test func `closed sign-up is refused with a reason, and existing accounts can sign in`() async throws {
        try await site.serving { _, http async throws in _ = try await http.signUp() }
        try await site.serving(change: { $0.signUp = .closed }) { _, http async throws in
            let refused = try await http.post("/auth/sign-up", JSON.entry("b@example.org"))
            #expect(refused.status == 403 && refused.json["reason"] == "sign_up_closed")
            let taken = try await http.post("/auth/sign-up", JSON.entry("a@example.org"))
            #expect(taken.json == refused.json, "nobody learns who has an account")
            #expect(try await signIn(http).status == 200)
            let metadata = try await http.get("/.well-known/oauth-authorization-server").json
            #expect(metadata["optimist_sign_up"] == "closed")
        }
    }

    @Test func `an invitation is valid for one account until it expires, and a refused sign-up does not use it up`()
        async throws
    {
        try await site.serving(change: { $0.signUp = .invited }) { server, http async throws in
            func signUp(_ email: String, _ invitation: JSON?, password: String = "correct horse") async throws
                -> HTTPSide.Answer
            {
                var entry = JSON.entry(email, password: password).object ?? [:]
                if let invitation { entry.append("invitation", invitation) }
                return try await http.post("/auth/sign-up", .object(entry))
            }
            #expect(try await signUp("a@example.org", nil).json["reason"] == "invitation_needed")
            #expect(try await signUp("a@example.org", "i1..AAAA").json["reason"] == "invalid_invitation")
            let first = try #require(await server.carryOut(.invite(days: 2))["invitation"])
            #expect(try await signUp("a@example.org", first, password: "short").json["reason"] == "weak_password")
            #expect(try await signUp("a@example.org", first).status == 201)
            #expect(try await signUp("b@example.org", first).json["reason"] == "invalid_invitation")
            let second = try #require(await server.carryOut(.invite(days: 2))["invitation"])
            #expect(try await signUp("A@example.org", second).json["reason"] == "email_taken")
            site.advance(by: 2 * 86_400 + 1)
            #expect(try await signUp("b@example.org", second).json["reason"] == "invalid_invitation")
            #expect(try await server.accounts().map(\.email) == ["a@example.org"])
            let hash = OneTimeToken(try #require(first.string), for: .invitation)?.hash
            #expect(hash.map { !$0.isEmpty } == true)
        }
    }

    // MARK: - Passwords

    @Test func `a new password ends the account's other sessions with that reason and keeps the current session`()
        async throws
    {
        try await site.serving { _, http async throws in
            let phone = try await http.signUp()
            let tablet = try Person(await signIn(http).json)
            func change(_ old: String, _ new: String) async throws -> HTTPSide.Answer {
                try await http.post(
                    "/auth/password", ["password": .string(old), "newPassword": .string(new)], token: phone.access)
            }
            let wrong = try await change("wrong horse", "battery staple")
            #expect(wrong.status == 400 && wrong.json["reason"] == "wrong_password")
            #expect(try await change("correct horse", "short").json["reason"] == "weak_password")
            #expect(try await change("correct horse", "a@example.org").json["reason"] == "password_is_address")
            #expect(try await status(http, tablet) == 200)
            #expect(try await change("correct horse", "battery staple").status == 200)
            #expect(try await status(http, phone) == 200)
            #expect(try await reason(http, tablet) == "password_changed")
            #expect(try await signIn(http).status == 400)
            #expect(try await signIn(http, "battery staple").status == 200)
            #expect(try await http.post("/auth/password", [:]).status == 401)
        }
    }

    @Test func `wrong passwords while signed in are limited like those at sign-in`() async throws {
        try await site.serving(change: { $0.signInBurstPerAccount = 2 }) { _, http async throws in
            let phone = try await http.signUp()
            var statuses: [Int] = []
            for _ in 1...3 {
                statuses.append(
                    try await http.post("/auth/delete-account", ["password": "wrong horse"], token: phone.access).status
                )
            }
            #expect(statuses == [400, 400, 429])
        }
    }

    @Test(.embedded)
    func `a reset token is stored as a hash, expires, sets one new password and ends all sessions`()
        async throws
    {
        try await site.serving { server, http async throws in
            let phone = try await http.signUp()
            func reset(_ token: JSON, _ password: String) async throws -> HTTPSide.Answer {
                try await http.post("/auth/reset-password", ["token": token, "newPassword": .string(password)])
            }
            let token = try #require(await server.carryOut(.reset(email: "A@example.org"))["token"])
            let secret = try #require(token.string?.split(separator: ".").last)
            let stored = try await server.database.pool.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM optimist_resets").map { "\($0)" }.joined()
            }
            #expect(!stored.isEmpty && !stored.contains(secret))
            #expect(try await reset("p1.a1.AAAA", "battery staple").json["reason"] == "invalid_reset")
            #expect(try await reset(token, "password").json["reason"] == "common_password")
            #expect(try await reset(token, "battery staple").status == 200)
            #expect(try await reason(http, phone) == "password_changed")
            #expect(try await reset(token, "another staple").json["reason"] == "invalid_reset")
            #expect(try await signIn(http, "battery staple").status == 200)
            let late = try #require(await server.carryOut(.reset(email: "a@example.org"))["token"])
            site.advance(by: 3601)
            #expect(try await reset(late, "another staple").json["reason"] == "invalid_reset")
        }
    }

    @Test func `a user who forgot the password gets a token, and the answer hides whether the account exists`()
        async throws
    {
        let delivered = Mutex<[PasswordReset]>([])
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        try await site.serving(change: {
            $0.deliverReset = { reset in
                delivered.withLock { $0.append(reset) }
                arrive.yield()
            }
        }) { _, http async throws in
            _ = try await http.signUp()
            func forgot(_ email: String) async throws -> HTTPSide.Answer {
                try await http.post("/auth/forgot-password", ["email": .string(email)])
            }
            let (unknown, known) = (try await forgot("nobody@example.org"), try await forgot("A@example.org"))
            #expect(unknown.status == 202 && known.status == 202 && unknown.json == known.json)
            for await _ in arrivals { break }
            let resets = delivered.withLock(\.self)
            #expect(resets.map(\.email) == ["a@example.org"])
            let token = JSON.string(resets[0].token)
            let answer = try await http.post(
                "/auth/reset-password", ["token": token, "newPassword": "battery staple"])
            #expect(answer.status == 200)
            for _ in 1...2 { _ = try await forgot("a@example.org") }
            #expect(try await forgot("a@example.org").status == 429, "nobody's mailbox is filled")
        }
    }

    @Test func `a password reset is refused if the server cannot deliver tokens`() async throws {
        try await site.serving { _, http async throws in
            let answer = try await http.post("/auth/forgot-password", ["email": "a@example.org"])
            #expect(answer.status == 403 && answer.json["reason"] == "reset_unavailable")
        }
    }

    // MARK: - Sessions

    @Test func `the session list has all active sessions, and an ended session is notified immediately`() async throws {
        try await site.serving { server, http async throws in
            let (phone, other) = (try await http.signUp(), try await http.signUp("b@example.org"))
            site.advance(by: 60)
            let tablet = try Person(await signIn(http).json)
            let list = try await http.get("/auth/sessions", token: phone.access).json["sessions"]?.array ?? []
            #expect(list.map { $0["isCurrent"] } == [false, true])
            #expect(list.first?["device"] == "Phone" && list.first?["signedInAt"] == "2027-01-15T08:01:00.000Z")
            let id = try #require(list.first?["id"]?.string)
            let foreign = try await http.delete("/auth/sessions/\(id)", token: other.access)
            #expect(foreign.status == 404, "it is not of that account")
            try await http.events(token: tablet.access) { event, data async throws in
                if event == "state" {
                    #expect(try await http.delete("/auth/sessions/\(id)", token: phone.access).status == 200)
                }
                if event == "session" { #expect(data["reason"] == "revoked") }
                return event == "session"
            }
            #expect(try await reason(http, tablet) == "revoked")
            let rest = try await http.get("/auth/sessions", token: phone.access).json["sessions"]?.array ?? []
            #expect(rest.count == 1)
            #expect(try await http.get("/auth/sessions").status == 401)
        }
    }

    // MARK: - Deletion

    @Test func `deleting an account removes its rows, sessions and streams, and nothing else`() async throws {
        try await site.serving { server, http async throws in
            let (phone, other) = (try await http.signUp(), try await http.signUp("b@example.org"))
            let tablet = try Person(await signIn(http).json)
            for person in [phone, other] {
                _ = try await server.call(person, "todo/set", ["create": [RowKey.id(1): ["content": "a"]]], push: 1)
            }
            var heard: JSON?
            try await http.events(token: tablet.access) { event, data async throws in
                if event == "state" {
                    let wrong = try await http.post(
                        "/auth/delete-account", ["password": "wrong horse"], token: phone.access)
                    #expect(wrong.json["reason"] == "wrong_password")
                    let answer = try await http.post(
                        "/auth/delete-account", ["password": "correct horse"], token: phone.access)
                    #expect(answer.status == 200)
                }
                if event == "session" { heard = data["reason"] }
                return event == "session"
            }
            #expect(heard == "account_deleted")
            #expect(try await signIn(http).status == 400)
            #expect(try await http.get("/.well-known/jmap", token: phone.access).json["reason"] == "account_deleted")
            let refresh = try await http.form(
                "/auth/token", "grant_type=refresh_token&refresh_token=\(tablet.refresh)")
            #expect(refresh.json["error"] == "invalid_grant" && refresh.json["reason"] == "account_deleted")
            #expect(try await left(of: phone.account).isEmpty)
            #expect(try await server.rows(account: other.account, type: "todo").count == 1)
            let again = try await http.signUp()
            #expect(again.account != phone.account)
            #expect(try await server.rows(account: again.account, type: "todo").isEmpty)
        }
    }

    @Test func `a deleted account is remembered through a restart, and its erasure continues`() async throws {
        let phone = try await site.serving { server, http async throws in
            let phone = try await http.signUp()
            _ = try await server.call(phone, "todo/set", ["create": [RowKey.id(1): ["content": "a"]]], push: 1)
            // Wait for the startup housekeeping, which would erase the rows.
            await site.clock.sleepers(atLeast: 1)
            // As if the server had stopped halfway: the account is deleted and its rows remain.
            _ = try await server.registry.store.delete(account: phone.account, if: nil, at: 1_800_000_000)
            let left = try await left(of: phone.account)
            #expect(
                left == ["optimist_rows", "optimist_pushes", "optimist_account_days", "optimist_account_epochs"])
            return phone
        }
        try await site.serving { server, http async throws in
            #expect(try await reason(http, phone) == "account_deleted")
            await site.clock.sleepers(atLeast: 1)
            #expect(try await left(of: phone.account).isEmpty)
        }
    }

    /// The tables that still have rows of an account.
    private func left(of account: String) async throws -> [String] {
        let tables = [
            "optimist_accounts", "optimist_sessions", "optimist_resets", "optimist_index", "optimist_rows",
            "optimist_pushes", "optimist_members", "optimist_audit", "optimist_account_days", "optimist_account_epochs",
        ]
        var left: [String] = []
        for table in tables where try await site.count(of: table, account: account) > 0 { left.append(table) }
        return left
    }

    // MARK: - The operator

    @Test(.embedded) func `operator commands work whether or not a server runs`() async throws {
        let account = try await site.serving { server, http async throws in
            let phone = try await http.signUp()
            let refusal = await #expect(throws: OptimistError.self) {
                _ = try await AccountOffice.carryOut(.list, at: site.directory)
            }
            #expect(refusal?.code == .dataInUse)
            #expect(try await server.carryOut(.list)["accounts"]?.array?.first?["sessions"] == 1)
            #expect(try await server.carryOut(.endSessions(email: "a@example.org", session: nil))["ended"] == 1)
            #expect(try await reason(http, phone) == "revoked")
            let unknown = await #expect(throws: OptimistError.self) {
                _ = try await server.carryOut(.delete(email: "nobody@example.org"))
            }
            #expect(unknown?.code == .notFound)
            return phone.account
        }
        let list = try await AccountOffice.carryOut(.list, at: site.directory)
        #expect(list["accounts"]?.array?.first?["id"]?.string == account)
        let epochs = try await DatabaseQueue(path: site.file.path).read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_epochs")
        }
        #expect(epochs == 1, "no server was started for it")
        _ = try await AccountOffice.carryOut(.delete(email: "a@example.org"), at: site.directory)
        #expect(try await AccountOffice.carryOut(.list, at: site.directory)["accounts"]?.array == [])
        let nowhere = site.directory.appending(path: "nowhere")
        let refusal = await #expect(throws: OptimistError.self) {
            _ = try await AccountOffice.carryOut(.list, at: nowhere)
        }
        #expect(refusal?.code == .unreadableData)
    }

    @Test(.embedded) func `a running server accepts commands on a socket that only the directory's owner can open`()
        async throws
    {
        try await site.serving { _, http async throws in
            _ = try await http.signUp()
            let socket = AccountOffice.socket(at: site.directory)
            // The server creates the socket when it opens its port, and then restricts it.
            func mode() -> Int? {
                try? FileManager.default.attributesOfItem(atPath: socket.path)[.posixPermissions] as? Int
            }
            while mode() != 0o600 { await Task.yield() }
            let answer = try await HTTPSide(base: HTTPSide.unix(socket)).post(
                "/orders", try JSONEncoder().encode(AccountOrder.list))
            #expect(answer.json["accounts"]?.array?.count == 1)
            let unknown = try await HTTPSide(base: HTTPSide.unix(socket)).post(
                "/orders", try JSONEncoder().encode(AccountOrder.reset(email: "nobody@example.org")))
            #expect(unknown.status == 404 && unknown.json["error"]?.string?.contains("account list") == true)
        }
        #expect(!FileManager.default.fileExists(atPath: AccountOffice.socket(at: site.directory).path))
    }
}

extension HTTPSide {
    fileprivate static func unix(_ socket: URL) -> String {
        let path = socket.path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return "http+unix://\(path)"
    }

    fileprivate func delete(_ path: String, token: String) async throws -> Answer {
        try await send("DELETE", path, token: token)
    }
}
