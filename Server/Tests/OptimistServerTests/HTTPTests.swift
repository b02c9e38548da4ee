// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The server over loopback, as strangers and broken clients see it.
@Suite(.timeLimit(.minutes(20)))
struct HTTPTests {
    let site = Site()

    private func create(_ account: String, _ content: String = "x") -> JSON {
        Request(methodCalls: [
            Invocation(
                "todo/set", ["accountId": .string(account), "create": [RowKey.id(1): ["content": .string(content)]]],
                callID: "0")
        ]).json
    }

    @Test func `discovery requires a token and returns the server's URLs`() async throws {
        try await site.serving { server, http async throws in
            let stranger = try await http.get("/.well-known/jmap")
            #expect(stranger.status == 401)
            #expect(stranger.headers["www-authenticate"] == ["Bearer realm=\"optimist\""])
            #expect(stranger.headers["content-type"] == ["application/problem+json"])
            let person = try await http.signUp()
            let session = try #require(
                SessionResource(json: await http.get("/.well-known/jmap", token: person.access).json))
            #expect(session.primaryAccount == person.account && session.username == "a@example.org")
            #expect(session.accounts[person.account] == .planner)
            #expect(session.apiURL == http.base + "/jmap/" && session.epoch == server.epoch)
            let answer = try await http.post("/jmap/", create(person.account), token: person.access)
            let response = try #require(Response(json: answer.json))
            #expect(response.sessionState == session.state)
            #expect(response.serverTime.map(UTCDate.isValid) == true)
            #expect(try await http.get("/healthz").status == 200)
            await site.untilHousekeepingRests()
            #expect(try await http.get("/readyz").status == 200)
            let metadata = try await http.get("/.well-known/oauth-authorization-server").json
            #expect(metadata["token_endpoint"]?.string == http.base + "/auth/token")
        }
    }

    @Test(arguments: [
        ("{", 400, "notJSON"), (#"{"using":[],"using":[],"methodCalls":[]}"#, 400, "notJSON"),
        ("[]", 400, "notRequest"),
        (#"{"using":[]}"#, 400, "notRequest"), (#"{"using":["x"],"methodCalls":[]}"#, 400, "unknownCapability"),
        (String(repeating: "[", count: 33), 413, "limit"),
        (
            #"{"using":[],"methodCalls":[\#(Array(repeating: #"["Core/echo",{},"0"]"#, count: 65).joined(separator: ","))]}"#,
            413, "limit"
        ),
        (#"{"using":[],"device":"no spaces here","methodCalls":[]}"#, 400, "notRequest"),
        (#"{"using":[],"oldestPendingSeconds":1,"methodCalls":[]}"#, 400, "notRequest"),
        (#"{"using":[],"oldestPendingSeconds":-1,"methodCalls":[]}"#, 400, "notRequest"),
        (#"{"using":[],"oldestPendingSeconds":"1","methodCalls":[]}"#, 400, "notRequest"),
    ])
    func `a bad request gets the protocol's error`(body: String, status: Int, error: String) async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let answer = try await http.post("/jmap/", Array(body.utf8), token: person.access)
            #expect(answer.status == status)
            #expect(answer.json["type"]?.string == "urn:ietf:params:jmap:error:" + error)
            #expect(answer.headers["content-type"] == ["application/problem+json"])
            #expect(try await http.get("/healthz").status == 200)
        }
    }

    @Test func `a body of 11 MB is refused as too large, with or without a length, and nothing is stored`()
        async throws
    {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let sides = create(person.account, "#").description.split(separator: "#")
            let body =
                Array(sides[0].utf8) + Array(repeating: UInt8(ascii: "x"), count: 11_000_000) + Array(sides[1].utf8)
            let answer = try await http.post("/jmap/", body, token: person.access)
            #expect(answer.status == 413)
            #expect(answer.json["type"]?.string == "urn:ietf:params:jmap:error:limit")
            #expect(answer.json["limit"] == "maxSizeRequest")
            #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
            #expect(try await http.post("/jmap/", create(person.account), token: person.access).status == 200)
        }
    }

    @Test func `a push with more rows than the limit is refused as a unit`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let rows = JSONObject((0..<2501).map { (RowKey.id($0), ["content": "x"]) })
            let call = Invocation(
                "todo/set", ["accountId": .string(person.account), "create": .object(rows)], callID: "0")
            let request = Request(methodCalls: [call, call], device: "deviceAA", push: 1)
            let answer = try await http.post("/jmap/", request.json, token: person.access)
            #expect(answer.status == 413 && answer.json["limit"] == "maxObjectsInSet")
            #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
        }
    }

    @Test func `a missing, invalid or expired token is 401, and nothing is stored`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let parts = person.access.split(separator: ".")
            let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.\(parts[1])."
            for token in [nil, "nonsense", person.access + "x", unsigned, person.refresh] {
                let answer = try await http.post("/jmap/", create(person.account), token: token)
                #expect(answer.status == 401)
                #expect(answer.headers["www-authenticate"].first?.contains("invalid_token") == (token != nil))
                #expect(answer.json["reason"] == nil)
            }
            site.advance(by: 901)
            let expired = try await http.post("/jmap/", create(person.account), token: person.access)
            #expect(expired.status == 401 && expired.json["error"] == "invalid_token")
            #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
        }
    }

    @Test func `one account cannot read or write another's rows`() async throws {
        try await site.serving { server, http async throws in
            let (mine, theirs) = (try await http.signUp("a@x.org"), try await http.signUp("b@x.org"))
            _ = try await http.post("/jmap/", create(mine.account, "mine"), token: mine.access)
            let calls = [
                Invocation("todo/get", ["accountId": .string(mine.account), "ids": .null], callID: "0"),
                Invocation(
                    "todo/changes", ["accountId": .string(mine.account), "sinceState": "e.0", "inline": true],
                    callID: "1"),
                Invocation(
                    "todo/set", ["accountId": .string(mine.account), "destroy": [.string(RowKey.id(1))]], callID: "2"),
                Invocation(
                    "todo/get", ["accountId": .string(theirs.account), "ids": [.string(RowKey.id(1))]], callID: "3"),
                Invocation(
                    "todo/set", ["accountId": .string(theirs.account), "destroy": [.string(RowKey.id(1))]], callID: "4"),
            ]
            let answer = try await http.post("/jmap/", Request(methodCalls: calls).json, token: theirs.access)
            let responses = try #require(Response(json: answer.json)).methodResponses
            #expect(responses[0...2].map(\.error) == ["accountNotFound", "accountNotFound", "accountNotFound"])
            #expect(responses[3].arguments["notFound"] == [.string(RowKey.id(1))])
            #expect(SetAnswer(json: responses[4].arguments)?.notDestroyed.first?.error.type == "notFound")
            #expect(try await server.rows(account: mine.account, type: "todo").count == 1)
        }
    }

    @Test func `a device has at most 8 requests at a time`() async throws {
        let slots = RequestSlots()
        var taken = try (0..<8).map { _ in try slots.enter("s") }
        let refusal = #expect(throws: RequestProblem.self) { try slots.enter("s") }
        #expect(refusal?.status == 429 && refusal?.limit == "maxConcurrentRequests")
        _ = try slots.enter("another's")
        taken[0].leave()
        taken[0].leave()
        taken.append(try slots.enter("s"))
        #expect(throws: RequestProblem.self) { try slots.enter("s") }
        taken = []
        #expect(throws: Never.self) { _ = try (0..<8).map { _ in try slots.enter("s") } }
    }

    @Test func `a port in use is an error with a remedy`() async throws {
        try await site.serving { server, _ async throws in
            let port = try await server.port
            let other = Site()
            let second = try await other.open { $0.port = port }
            let refusal = await #expect(throws: OptimistError.self) { try await second.run() }
            #expect(refusal?.code == .addressInUse && refusal?.message.contains("\(port)") == true)
        }
    }
}
