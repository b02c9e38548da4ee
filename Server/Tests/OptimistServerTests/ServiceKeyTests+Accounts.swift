// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Programs that find and change accounts.
extension ServiceKeyTests {
    @Test func `K5 a program finds the accounts that its key allows, by address, by id and page by page`()
        async throws
    {
        try await serving { server, http async throws in
            var people: [Person] = []
            for name in ["ann", "bob", "carol"] { people.append(try await http.signUp("\(name)@example.org")) }
            let job = try await make(server, http, "all", .read)
            let one = try await make(server, http, "one", .read, accounts: [people[1].account])
            func found(_ query: String, by program: Program) async throws -> ([String], String?) {
                let answer = try await http.get("/service/accounts\(query)", token: program.text)
                #expect(answer.status == 200)
                let emails = (answer.json["accounts"]?.array ?? []).compactMap { $0["email"]?.string }
                return (emails, answer.json["next"]?.string)
            }
            #expect(try await found("?email=BOB%40example.org", by: job).0 == ["bob@example.org"])
            #expect(try await found("?id=\(people[2].account)", by: job).0 == ["carol@example.org"])
            #expect(try await found("?email=eve%40example.org", by: job).0 == [])
            let page = try await found("?limit=2", by: job)
            #expect(page.0 == ["ann@example.org", "bob@example.org"])
            let rest = try await found("?limit=2&after=\(page.1 ?? "")", by: job)
            #expect(rest.0 == ["carol@example.org"] && rest.1 == nil)
            #expect(try await found("", by: one).0 == ["bob@example.org"])
            #expect(try await found("?email=ann%40example.org", by: one).0 == [])
            #expect(try await found("?id=\(people[0].account)", by: one).0 == [])
            for query in ["?limit=1", "?limit=1&after=ann%40example.org"] {
                let answer = try await found(query, by: one)
                #expect(answer.0 == ["bob@example.org"] && answer.1 == nil)
            }
            #expect(try await found("?limit=1&after=bob%40example.org", by: one) == ([], nil))
            for limit in ["0", "1001", "x"] {
                #expect(try await http.get("/service/accounts?limit=\(limit)", token: job.text).status == 400)
            }
        }
    }

    @Test func `K5 a program creates, disables, enables and deletes accounts`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            func change(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> HTTPSide.Answer {
                try await http.send(
                    method, "/service/accounts\(path)", token: job.text,
                    headers: ["content-type": "application/json"], body: body?.bytes)
            }
            let made = try await change("POST", "", ["email": "new@example.org"])
            #expect(made.status == 201 && made.json["isDisabled"] == false)
            let new = try #require(made.json["id"]?.string)
            #expect(try await change("POST", "", ["email": "NEW@example.org"]).json["reason"] == "email_taken")
            #expect(try await change("POST", "", ["email": "no address"]).status == 400)
            #expect(refusal(try await job.call("List/set", Self.lists(1), in: new)) == nil)
            // Its person must first choose a password.
            #expect(try await http.post("/auth/sign-in", JSON.entry("new@example.org", password: "")).status == 400)
            let reset = try #require(await server.carryOut(.reset(email: "new@example.org"))["token"])
            let password: JSON = ["token": reset, "newPassword": "battery staple"]
            #expect(try await http.post("/auth/reset-password", password).status == 200)
            let entry = JSON.entry("new@example.org", password: "battery staple")
            #expect(try await http.post("/auth/sign-in", entry).status == 200)

            _ = try await server.call(ann, "List/set", .object(Self.lists(1)))
            let token = try #require(await server.carryOut(.reset(email: "a@example.org"))["token"])
            #expect(try await change("POST", "/\(ann.account)/disable").json["isDisabled"] == true)
            #expect(try await change("POST", "/\(ann.account)/disable").json["isDisabled"] == true)
            #expect(try await http.get("/auth/sessions", token: ann.access).status == 401)
            let refused = try await http.post("/auth/sign-in", JSON.entry("a@example.org"))
            #expect(refused.status == 403 && refused.json["reason"] == "account_disabled")
            let wrong = try await http.post("/auth/sign-in", JSON.entry("a@example.org", password: "wrong horse"))
            #expect(wrong.status == 400 && wrong.json["reason"] == nil)
            let late: JSON = ["token": token, "newPassword": "battery staple"]
            #expect(try await http.post("/auth/reset-password", late).status >= 400)
            #expect(try await http.post("/auth/sign-in", JSON.entry("a@example.org")).status == 403)
            #expect(try await job.call("List/get", ["ids": .null], in: ann.account)["list"]?.array?.count == 1)
            #expect(try await change("POST", "/\(ann.account)/enable").json["isDisabled"] == false)
            #expect(try await http.post("/auth/sign-in", JSON.entry("a@example.org")).status == 200)

            #expect(try await change("DELETE", "/\(ann.account)").status == 200)
            #expect(try await change("DELETE", "/\(ann.account)").status == 404)
            #expect(try await change("POST", "/\(ann.account)/disable").status == 404)
            #expect(refusal(try await job.call("List/get", ["ids": .null], in: ann.account)) == "accountNotFound")
            let events = Set(book.events)
            #expect(
                events.isSuperset(of: ["account_created", "account_disabled", "account_enabled", "account_deleted"]))
        }
    }

    @Test func `K5 only a key that may write rows of all types changes accounts, and only allowed ones`()
        async throws
    {
        try await serving { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            let programs = [
                try await make(server, http, "r", .read), try await make(server, http, "t", types: ["List"]),
                try await make(server, http, "s", accounts: [bob.account]),
            ]
            for program in programs {
                let body: JSON = ["email": "new@example.org"]
                #expect(try await http.post("/service/accounts", body, token: program.text).status == 403)
                for (method, path) in [("POST", "/disable"), ("POST", "/enable"), ("DELETE", "")] {
                    let path = "/service/accounts/\(ann.account)\(path)"
                    let status = try await http.send(method, path, token: program.text).status
                    #expect([403, 404].contains(status))
                }
            }
            #expect(try await http.get("/auth/sessions", token: ann.access).status == 200)
            let path = "/service/accounts/\(bob.account)/disable"
            #expect(try await http.send("POST", path, token: programs[2].text).status == 200)
            #expect(try await http.get("/auth/sessions", token: bob.access).status == 401)
        }
    }
}
