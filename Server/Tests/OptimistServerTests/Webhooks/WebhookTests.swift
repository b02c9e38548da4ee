// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// Messages to receivers, and their state for operators.
@Suite(.timeLimit(.minutes(20)))
struct WebhookTests {
    /// > Source: the example of the libraries of Standard Webhooks.
    @Test func `D2 a signature is as in the example of Standard Webhooks, and one for each secret`() throws {
        let secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        let body = Array(#"{"test": 2432232314}"#.utf8)
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        func signature(_ secrets: [WebhookSecret]) -> String {
            WebhookSecret.signature(of: body, id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330, by: secrets)
        }
        #expect(signature([secret]) == expected)
        let other = try WebhookSecret(WebhookSecret.make())
        #expect(signature([other, secret]) == "\(signature([other])) \(expected)")
    }

    @Test(arguments: ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTw==", "whsec_%%%%"])
    func `D2 a malformed secret is refused with a message that does not show it`(text: String) {
        let error = #expect(throws: OptimistError.self) { try WebhookSecret(text) }
        #expect(error?.code == .badWebhook)
        #expect(text.count < 7 || error?.message.contains(text.dropFirst(6)) == false)
    }

    @Test func `D2 a description shows neither the secret nor the query of an address`() throws {
        let text = WebhookSecret.make()
        let webhook = Webhook(
            name: "a", url: try #require(URL(string: "https://example.org:8443/x?token=t0p")),
            secrets: [try WebhookSecret(text)])
        #expect(!String(reflecting: webhook.secrets).contains(text.dropFirst(6)))
        #expect(webhook.url.shownAddress == "https://example.org:8443/x")
    }

    @Test func `D6 a webhook that cannot be used keeps the server from starting`() async throws {
        let secret = try WebhookSecret(WebhookSecret.make())
        func webhook(_ name: String = "a", _ url: String = "https://example.org", types: Set<String>? = nil) throws
            -> Webhook
        {
            Webhook(name: name, url: try #require(URL(string: url)), secrets: [secret], types: types)
        }
        let bad = try [
            [webhook("A")], [webhook(), webhook()], [webhook("a", "ftp://example.org")],
            [webhook("a", "https://user:word@example.org")], [webhook(types: ["nothing"])],
            [Webhook(name: "a", url: #require(URL(string: "https://example.org")), secrets: [])],
        ]
        for webhooks in bad {
            let error = await #expect(throws: OptimistError.self) {
                _ = try await Site().open(waits: false) { $0.webhooks = webhooks }
            }
            #expect(error?.code == .badWebhook && error?.message.contains("word") == false)
        }
    }

    @Test func `D1 D6 a position moves only from where it was, and an operator's move wins`() async throws {
        let site = Site()
        let server = try await site.open()
        let person = try await server.signUp()
        for number in 1...3 {
            _ = try await server.call(
                person, "todo/set", ["create": [RowKey.id(number): ["content": "tea"]]], push: Int64(number))
        }
        let (store, account) = (server.registry.store, person.account)
        func position(_ name: String = "a") async throws -> Int64 { try await store.position(of: name, in: account) }
        #expect(try await position() == 0)
        #expect(try await store.move(positionOf: "a", in: account, from: 0, to: 2))
        #expect(try await position() == 2)
        for old: Int64 in [0, 1, 3] {
            #expect(try await !store.move(positionOf: "a", in: account, from: old, to: 3))
        }
        #expect(try await position() == 2)
        #expect(try await !store.move(positionOf: "b", in: account, from: 1, to: 3))
        #expect(try await position("b") == 0)
        try await store.set(positionsOf: "a", to: 0, in: nil)
        #expect(try await !store.move(positionOf: "a", in: account, from: 2, to: 3))
        #expect(try await position() == 0)
        try await store.set(positionsOf: "a", to: .max, in: account)
        #expect(try await position() == 3)
        try await store.set(positionsOf: "a", to: 0, in: "nobody")
        #expect(try await position() == 3)
        try await store.forgetPositions(in: account)
        #expect(try await position() == 0)
    }

    @Test func `D6 a receiver is listed with its state, and resuming and replaying switch it on`() async throws {
        let site = Site()
        let server = try await site.open()
        let store = server.registry.store
        await #expect(throws: OptimistError.self) { try await server.carryOut(.webhook(.resume(name: "a"))) }
        try await store.change(webhook: "a") { $0.offSince = 1_700_000_000 }
        // A server that did not call the receiver saves its report.
        var report = WebhookReport(
            Webhook(name: "a", url: try #require(URL(string: "https://example.org")), secrets: []))
        report.failure = "status.500"
        try await store.keep(report, of: "a")
        func listed() async throws -> JSON {
            try await server.carryOut(.webhook(.list))["webhooks"]?.array?.first ?? .null
        }
        let off = try await listed()
        #expect(off["isOff"] == true && off["failure"] == "status.410" && off["failedAt"] == off["offSince"])
        #expect(try await server.carryOut(.webhook(.resume(name: "a")))["resumed"] == "a")
        #expect(try await listed()["isOff"] == false)
        #expect(try await store.record(of: "a").restarts == 1)
        _ = try await server.carryOut(.webhook(.replay(name: "a", seq: 1, account: nil)))
        #expect(try await store.record(of: "a").restarts == 2)
        await #expect(throws: OptimistError.self) {
            try await server.carryOut(.webhook(.replay(name: "a", seq: 1, account: "nobody")))
        }
    }

    @Test func `D6 a replay from a transaction that an account does not have is refused`() async throws {
        let site = Site()
        let server = try await site.open()
        let (person, store) = (try await server.signUp(), server.registry.store)
        try await store.change(webhook: "a") { _ in }
        func replay(_ seq: Int64) async throws {
            _ = try await server.carryOut(.webhook(.replay(name: "a", seq: seq, account: person.account)))
        }
        try await replay(1)
        _ = try await server.call(
            person, "todo/set", ["create": [RowKey.id(1): ["content": "tea"]]], push: 1)
        let error = await #expect(throws: OptimistError.self) { try await replay(2) }
        #expect(error?.message.contains("its last one is 1") == true)
        #expect(try await store.record(of: "a").restarts == 1)
        try await replay(.max)
        #expect(try await store.position(of: "a", in: person.account) == 1)
    }

    /// Runs the deliveries of one receiver until it has `count` messages. `answer` gives the status of each call.
    private static func sent(
        _ webhook: Webhook, of server: OptimistServer, count: Int,
        answer: @escaping @Sendable (Int) -> Int = { _ in 200 }
    ) async throws -> [JSON] {
        let sent = Mutex<[JSON]>([])
        let (ends, end) = AsyncStream<Void>.makeStream()
        let deliveries = WebhookDeliveries(
            webhook, rows: server.storage.rows, store: server.storage.accounts, schema: .planner,
            exclusively: { await $0() },
            post: { message in
                let status = sent.withLock { sent in
                    sent.append((try? JSON(parsing: message.body)) ?? .null)
                    return answer(sent.count)
                }
                if sent.withLock(\.count) == count { end.yield() }
                return status
            }, metrics: nil, dependencies: Dependencies(clock: ManualClock()),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await deliveries.run() }
        for await _ in ends { break }
        running.cancel()
        try await running.value
        return sent.withLock(\.self)
    }

    @Test func `D1 a message has the account, the number and the rows of one transaction`() async throws {
        let site = Site()
        let server = try await site.open()
        let person = try await server.signUp()
        let id = RowKey.id(1)
        _ = try await server.call(person, "todo/set", ["create": [id: ["content": "tea"]]], push: 1)
        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(2): ["content": "jam"]]], push: 2)
        let webhook = Webhook(
            name: "a", url: try #require(URL(string: "https://example.org")),
            secrets: [try WebhookSecret(WebhookSecret.make())])
        let messages = try await Self.sent(webhook, of: server, count: 2)
        #expect(messages.map { $0["data"]?["seq"] } == [1, 2])
        let data = try #require(messages[0]["data"])
        #expect(data["account"] == .string(person.account) && data["space"] == .null)
        let row = try #require(data["rows"]?.array?.first)
        #expect(row["type"] == "todo" && row["id"] == .string(id) && row["isNew"] == true)
        #expect(row["values"]?["content"] == "tea")
    }
}

/// Answers of a hook's endpoint, and how the log names its failures.
@Suite struct HookAnswerTests {
    @Test func `D7 the log names the address of a hook without its query, and why a call failed`() throws {
        let (book, secret) = (LogBook(), WebhookSecret.make())
        var configuration = ServerConfiguration(storage: .directory(URL(filePath: "/unused")), schema: .planner)
        configuration.logger = book.logger
        configuration.hook = try .calling(
            try #require(URL(string: "https://example.org/before?token=t0p")), secrets: [try WebhookSecret(secret)])
        let hook = try #require(configuration.loggingHook)
        hook.onFailure(.late)
        let errors: [any Error] = [
            DeliverySchedule.Failure.status(401), DeliverySchedule.Failure.unreachable, HookAnswer.Malformed(),
        ]
        for error in errors { hook.onFailure(.threw(error)) }
        #expect(book.lines.map { $0.metadata["failure"] } == ["late", "status.401", "unreachable", "malformed"])
        #expect(book.lines.allSatisfy { $0.metadata["hook"] == "https://example.org/before" })
        #expect(!"\(book.lines)".contains("t0p") && !"\(book.lines)".contains(secret.dropFirst(6)))
    }

    private static func read(_ text: String) throws -> [RowAmendment] {
        try HookAnswer.amendments(in: Array(text.utf8))
    }

    @Test func `D7 an empty object changes nothing, and amendments name a row and its values`() throws {
        #expect(try Self.read("{}").isEmpty)
        let found = try Self.read(#"{"amend":[{"type":"todo","id":"x","values":{"content":"a","count":2}}]}"#)
        #expect(found.map(\.key) == [RowKey("todo", "x")])
        #expect(found[0].values == ["content": "a", "count": 2])
    }

    @Test func `D7 a refusal is the app's fault with its code, message and columns`() {
        let fault = #expect(throws: RowFault.self) {
            try Self.read(#"{"refuse":{"code":"sold_out","message":"Sold out.","columns":["total"]}}"#)
        }
        #expect(fault == RowFault("sold_out", "Sold out.", columns: ["total"]))
    }

    @Test(arguments: [
        "", "null", "[]", "{", #"{"reject":{}}"#, #"{"refuse":{"code":"x"}}"#, #"{"amend":{}}"#, #"{"amend":[{}]}"#,
        #"{"refuse":{"code":"x","message":"y","columns":[1]}}"#,
        #"{"refuse":{"code":"x","message":"y","columns":"z"}}"#,
    ])
    func `D7 any other answer defers the group, and never stores or refuses it`(text: String) {
        #expect(throws: HookAnswer.Malformed.self) { try Self.read(text) }
    }
}
