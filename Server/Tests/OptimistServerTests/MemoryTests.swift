// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The memory that requests and answers share.
@Suite(.timeLimit(.minutes(20)))
struct MemoryTests {
    @Test func `an account holds at most as much as it leaves free, so that another account finds room`() {
        var ledger = MemoryLedger(limit: 100, allowance: 0)
        let takes = [("a", 50), ("a", 1), ("b", 25), ("b", 1), ("c", 10)].map { ledger.take($0.1, for: $0.0, own: 0) }
        #expect(takes == [true, false, true, false, true])
        ledger.add(-50, to: "a")
        let isBack = ledger.take(30, for: "a", own: 0)
        #expect(isBack && ledger.total == 65)
        let isTooMuch = ledger.take(35, for: "d", own: 0)
        #expect(!isTooMuch)
    }

    @Test func `a request that is alone is accepted at any size`() {
        var ledger = MemoryLedger(limit: 100, allowance: 0)
        let takes = [("a", 30, 0), ("a", 400, 30), ("b", 1, 0)].map { ledger.take($0.1, for: $0.0, own: $0.2) }
        #expect(takes == [true, true, false])
    }

    @Test func `an account always has its allowance, whatever other accounts hold`() {
        var ledger = MemoryLedger(limit: 100, allowance: 8)
        ledger.add(130, to: "a")
        let takes = [("b", 8), ("b", 1), ("a", 1), ("c", 7), ("c", 1)].map { ledger.take($0.1, for: $0.0, own: 0) }
        #expect(takes == [true, false, false, true, true])
    }

    @Test func `four accounts with eight unread answers each leave a fifth account its pages`() throws {
        let room = MemoryRoom(memory: 512_000_000)
        var unread: [MemoryShare] = []
        for request in 0..<32 {
            let share = room.share(of: "\(request % 4)")
            guard (try? share.takeAnswer(114_000_000)) != nil else { continue }
            share.keep(answer: 57_000_000)
            unread.append(share)
        }
        #expect(room.total <= room.limit && unread.count >= 3)
        let newcomer = room.share(of: "newcomer")
        try newcomer.take(1_000_000)
        #expect(newcomer.beginAnswer() > 1_000_000)
        try newcomer.takeAnswer(10_000_000)
    }

    @Test func `a share is returned when its request ends or its last holder releases it`() throws {
        let room = MemoryRoom(memory: MemoryRoom.least)
        let share = room.share(of: "a")
        try share.take(100)
        // A transaction that runs again begins its answer twice.
        for _ in 0..<2 {
            #expect(share.beginAnswer() > 1_000_000)
            try share.takeAnswer(30)
            try share.takeAnswer(20)
            #expect(room.total == 150)
        }
        share.keep(answer: 50)
        #expect(room.total == 50)
        share.leave()
        share.leave()
        try room.share(of: "b").take(10)
        #expect(room.total == 0)
    }

    private func create(_ person: Person, rows: Range<Int>) -> JSON {
        let content = JSON.string(String(repeating: "x", count: 60_000))
        let todos = rows.map { (RowKey.id($0), JSON.object(["content": content])) }
        return Request(methodCalls: [
            Invocation(
                "todo/set", ["accountId": .string(person.account), "create": .object(JSONObject(todos))], callID: "0")
        ]).json
    }

    private func changes(_ person: Person, since state: String) -> JSON {
        Request(methodCalls: [
            Invocation(
                "todo/changes",
                ["accountId": .string(person.account), "sinceState": .string(state), "inline": true], callID: "0")
        ]).json
    }

    @Test func `while others hold the memory, a large request gets 503 with Retry-After, and stores nothing`()
        async throws
    {
        let site = Site()
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let held = server.routes.memory.share(of: "another")
            held.keep(answer: server.routes.memory.limit)
            let refused = try await http.post("/jmap/", create(person, rows: 0..<5), token: person.access)
            #expect(refused.status == 503 && refused.headers["retry-after"] == ["1"])
            #expect(refused.json["detail"]?.string?.contains("memory") == true)
            #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
            held.leave()
            let taken = try await http.post("/jmap/", create(person, rows: 0..<5), token: person.access)
            #expect(taken.status == 200)
            while server.routes.memory.total > 0 { await Task.yield() }
        }
    }

    @Test(arguments: [-32_000_000, 0, 64_000_000])
    func `while unread answers hold the memory, an account holding none gets small answers immediately`(
        beyond: Int
    ) async throws {
        let site = Site()
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            let held = server.routes.memory.share(of: "another")
            held.keep(answer: server.routes.memory.limit + beyond)
            let echo = Request(methodCalls: [Invocation("Core/echo", ["a": 1], callID: "0")])
            #expect(try await http.post("/jmap/", echo.json, token: person.access).status == 200)
            #expect(try await http.post("/jmap/", create(person, rows: 0..<1), token: person.access).status == 200)
            #expect(try await server.rows(account: person.account, type: "todo").count == 1)
            #expect(try await http.get("/healthz").status == 200)
        }
    }

    @Test func `while unread answers hold the memory, a pull gets smaller pages and finishes`() async throws {
        let site = Site()
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            for start in 0..<10 {
                let rows = create(person, rows: start..<start + 1)
                #expect(try await http.post("/jmap/", rows, token: person.access).status == 200)
            }
            let held = server.routes.memory.share(of: "another")
            held.keep(answer: server.routes.memory.limit)
            var (state, pages, rows) = ("\(server.epoch).0", 0, 0)
            while pages < 20 {
                let answer = try await http.post("/jmap/", changes(person, since: state), token: person.access)
                #expect(answer.status == 200)
                let page = try #require(Response(json: answer.json)?.methodResponses.first?.arguments)
                pages += 1
                rows += page["list"]?.array?.count ?? 0
                state = try #require(page["newState"]?.string)
                if page["hasMoreChanges"] == false { break }
            }
            #expect(rows == 10 && (5...10).contains(pages), "\(rows) rows in \(pages) pages")
        }
    }

    @Test func `an answer sent in many pieces is complete, and its memory is freed`() async throws {
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

    @Test func `the parsed size is estimated from values and lists, ignoring the content of strings`() {
        let lists = size(String(repeating: "[0],", count: 10_000))
        #expect(lists > 1_000_000)
        #expect(size("\"" + String(repeating: "[0],", count: 10_000) + "\"") < 130_000)
        #expect(size(#""\\\"[[[[""#) < 100)
        #expect(size("\"cut off") > 0 && size("") > 0 && size("\"\\") > 0)
    }
}
