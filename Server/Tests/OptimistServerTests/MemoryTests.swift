// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
import OptimistWire
import Testing

@testable import OptimistServer

/// The memory that requests and answers share.
@Suite(.timeLimit(.minutes(20)))
struct MemoryTests {
    @Test func `an account takes no more than is left, so that a newcomer always finds room`() {
        var ledger = MemoryLedger(limit: 100)
        let takes = [("a", 50), ("a", 1), ("b", 25), ("b", 1), ("c", 10)].map { ledger.take($0.1, for: $0.0, own: 0) }
        #expect(takes == [true, false, true, false, true])
        ledger.add(-50, to: "a")
        let isBack = ledger.take(30, for: "a", own: 0)
        #expect(isBack && ledger.total == 65)
    }

    @Test func `a request that is alone is let in whatever its size`() {
        var ledger = MemoryLedger(limit: 100)
        let takes = [("a", 30, 0), ("a", 400, 30), ("b", 1, 0)].map { ledger.take($0.1, for: $0.0, own: $0.2) }
        #expect(takes == [true, true, false])
    }

    @Test func `what evaluations set aside does not count for their account`() {
        var ledger = MemoryLedger(limit: 512)
        let areSet = (0..<8).map { _ in ledger.setAside(64, for: "a", own: 0) }
        #expect(!areSet.contains(false))
        ledger.giveBack(8 * 64)
        #expect(ledger.total == 0)
    }

    @Test func `a share is given back when its request is done, or nobody holds it any more`() throws {
        let room = MemoryRoom(limit: 1_000)
        let share = room.share(of: "a")
        try share.take(100)
        try share.beginAnswer(upTo: 500)
        #expect(room.total == 600)
        // A transaction that runs again evaluates twice.
        share.endAnswer(of: 50, upTo: 500)
        try share.beginAnswer(upTo: 500)
        share.endAnswer(of: 50, upTo: 500)
        share.keep(answer: 50)
        #expect(room.total == 50)
        share.leave()
        share.leave()
        try room.share(of: "b").take(10)
        #expect(room.total == 0)
    }

    @Test func `while others hold the memory a request gets 503 with Retry-After, and nothing is stored`() async throws
    {
        let site = Site()
        try await site.serving(change: { $0.memoryLimit = 1_000_000 }) { server, http async throws in
            let person = try await http.signUp()
            let create = Request(methodCalls: [
                Invocation(
                    "todo/set", ["accountId": .string(person.account), "create": [RowKey.id(1): ["content": "x"]]],
                    callID: "0")
            ])
            let held = server.routes.memory.share(of: "another")
            try held.take(990_000)
            let refused = try await http.post("/jmap/", create.json, token: person.access)
            #expect(refused.status == 503 && refused.headers["retry-after"] == ["1"])
            #expect(refused.json["detail"]?.string?.contains("memory") == true)
            #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
            #expect(try await http.get("/healthz").status == 200)
            held.leave()
            #expect(try await http.post("/jmap/", create.json, token: person.access).status == 200)
            #expect(server.routes.memory.total == 0)
        }
    }

    @Test func `an answer that comes in many pieces is whole, and its memory is free afterwards`() async throws {
        let site = Site()
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let text = String(repeating: "0123456789", count: 20_000)
            let echo = Request(methodCalls: [Invocation("Core/echo", ["a": .string(text)], callID: "0")])
            let answer = try await http.post("/jmap/", echo.json, token: person.access)
            let response = try #require(Response(json: answer.json))
            #expect(response.methodResponses.first?.arguments["a"]?.string == text)
            while server.routes.memory.total > 0 { await Task.yield() }
        }
    }

    private func size(_ text: String) -> Int {
        var text = text
        return text.withUTF8 { ParsedSize.bytes(of: UnsafeRawBufferPointer($0)) }
    }

    @Test func `what a text is parsed into is told from its values and lists, and not from what strings hold`() {
        let lists = size(String(repeating: "[0],", count: 10_000))
        #expect(lists > 1_000_000)
        #expect(size("\"" + String(repeating: "[0],", count: 10_000) + "\"") < 130_000)
        #expect(size(#""\\\"[[[[""#) < 100)
        #expect(size("\"cut off") > 0 && size("") > 0 && size("\"\\") > 0)
    }
}
