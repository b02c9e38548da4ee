// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

/// How an empty device receives all rows.
@Suite(.timeLimit(.minutes(20)))
struct SnapshotTests {
    private let served = Served()

    private func fill(_ count: Int) async throws {
        // In reverse, so that the order of writing differs from the order of ids.
        for number in (0..<count).reversed() {
            _ = try await served.call("Todo/set", .create([(.todo(number), ["content": .string("\(number)")])]))
        }
    }

    private func ids(_ answer: JSONObject) -> [String] { answer["list"]?.array?.compactMap { $0["id"]?.string } ?? [] }

    @Test func `R6: pages follow the order of ids, and the last one ends with null`() async throws {
        try await fill(7)
        var place: JSON = [:]
        var pages: [[String]] = []
        while true {
            let answer = try await served.call("Todo/changes", ["snapshot": place, "inline": true, "maxChanges": 3])
            pages.append(ids(answer))
            #expect(answer["at"] == "e1.7")
            #expect(answer["total"] == (pages.count == 1 ? 7 : nil))
            #expect(answer["epochs"] == nil)
            guard let next = answer["next"]?.string else { break }
            place = ["at": answer["at"] ?? nil, "after": .string(next)]
        }
        #expect(pages == [[0, 1, 2], [3, 4, 5], [6]].map { $0.map(RowKey.id) })
    }

    @Test func `R6: a snapshot returns rows as stored, without deleted ones`() async throws {
        try await fill(2)
        _ = try await served.call("Todo/set", .destroy(.todo(1)))
        let snapshot = try await served.call("Todo/changes", ["snapshot": [:]])
        let pulled = try await served.call("Todo/changes", ["sinceState": "e1.0", "inline": true])
        #expect(snapshot["list"] == pulled["list"])
        #expect(ids(snapshot) == [RowKey.id(0)])
        #expect(snapshot["total"] == 1)
    }

    @Test func `R6: the tables of one request share a state, which writes between pages do not change`()
        async throws
    {
        try await fill(2)
        let answers = try await served.call([
            ("List/changes", ["snapshot": [:]]), ("Todo/changes", ["snapshot": [:], "maxChanges": 1]),
        ])
        #expect(answers.map { $0.arguments["at"] } == ["e1.2", "e1.2"])
        #expect(answers[0].arguments["list"] == [])
        _ = try await served.call("Todo/set", .update(.todo(0), ["done": true]))
        _ = try await served.call("Todo/set", .update(.todo(1), ["done": true]))
        let rest = try await served.call(
            "Todo/changes", ["snapshot": ["at": "e1.2", "after": .string(RowKey.id(0))]])
        #expect(rest["at"] == "e1.2")
        #expect(rest["list"]?.array?.first?["done"] == true, "a page has the row's value at the page's time")
        let tail = try await served.call("Todo/changes", ["sinceState": "e1.2", "inline": true])
        #expect(tail["list"]?.array?.count == 2, "later changes are in the tail")
    }

    @Test func `R6: the snapshot's state precedes the request's own writes`() async throws {
        let answers = try await served.call([
            ("Todo/set", .create([(.todo, ["content": "a"])])), ("Todo/changes", ["snapshot": [:]]),
        ])
        #expect(answers[1].arguments["at"] == "e1.0.0.0")
    }

    @Test func `R6: a page ends at its byte limit, but has at least one row`() async throws {
        try await fill(3)
        let page = try await served.store.read(account: Served.account, as: .operator) { account in
            try account.livingRows(type: "Todo", after: RowKey.id(0), limit: 9, maxBytes: 1)
        }
        #expect(page.rows.map(\.id) == [RowKey.id(1)])
        #expect(page.hasMore)
        let size = page.rows[0].content.count
        let both = try await served.store.read(account: Served.account, as: .operator) { account in
            try account.livingRows(type: "Todo", after: RowKey.id(0), limit: 9, maxBytes: 2 * size)
        }
        #expect(both.rows.map(\.id) == [RowKey.id(1), RowKey.id(2)])
        #expect(!both.hasMore)
    }

    @Test(
        arguments: [
            ["snapshot": "all"], ["snapshot": ["at": 4]], ["snapshot": [:], "maxChanges": 0],
            ["snapshot": ["after": 1]],
        ] as [JSON])
    func `R6: an invalid snapshot call is refused`(arguments: JSON) async throws {
        #expect(try await served.call("Todo/changes", arguments)["type"] == "invalidArguments")
    }

    @Test func `L3: a snapshot of an earlier epoch continues or is reported as forked, with the epochs`()
        async throws
    {
        try await fill(2)
        let backup = served.store.contents
        _ = try await served.call("Todo/set", .update(.todo(0), ["done": true]))
        served.restart("e2", from: backup)
        let known = try await served.call("Todo/changes", ["snapshot": ["at": "e1.2", "after": .string(RowKey.id(0))]])
        #expect(known["at"] == "e1.2")
        #expect(known["epochs"] == [["epoch": "e1", "firstSeq": 0], ["epoch": "e2", "firstSeq": 2]])
        let lost = try await served.call("Todo/changes", ["snapshot": ["at": "e1.3"]])
        #expect(lost["type"] == "forked")
        #expect(lost["epochs"] == known["epochs"])
    }
}
