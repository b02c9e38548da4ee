// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistWire

/// The messages of moves.
@Suite(.timeLimit(.minutes(20)))
struct CopyCallTests {
    private static let clock = WriteClock(stamp: Stamp(milliseconds: 5), device: "D")
    private static let row = "00000000-0000-4000-8000-0000000000aa"

    @Test func `a call survives its wire form`() throws {
        var call = CopyCall(fromAccountID: "a1", accountID: "s1")
        call.ifInState = "e1.4"
        call.ifFromInState = "e1.7"
        var patch = RowPatch(generation: 3, clocks: ColumnClocks(common: Self.clock), values: ["space": "s"])
        patch.firstLife = 1
        call.create = [
            ("k1", CopyCall.Row(id: Self.row, patch: patch)),
            (Self.row, CopyCall.Row(id: Self.row, patch: patch, isWhole: true)),
        ]
        let read = try #require(CopyCall(json: call.json))
        #expect(read == call)
        #expect(read.create.map(\.row) == call.create.map(\.row))
        #expect(call.json["onSuccessDestroyOriginal"] == true)
        #expect(call.json["create"]?["k1"]?["@whole"] == nil && call.json["create"]?["k1"]?["@first"] == 1)
    }

    @Test(
        arguments: [
            ["accountId": "b", "create": [:]], ["fromAccountId": "a", "create": [:]],
            ["fromAccountId": "a", "accountId": "b"], ["fromAccountId": "a", "accountId": "b", "create": ["k": 1]],
            ["fromAccountId": "a", "accountId": "b", "create": ["k": ["space": "s"]]],
            ["fromAccountId": "a", "accountId": "b", "create": ["k": ["id": "r", "@gen": "x"]]],
            ["fromAccountId": "a", "accountId": "b", "create": [:], "onSuccessDestroyOriginal": 1],
            ["fromAccountId": "a", "accountId": "b", "create": [:], "ifInState": 1],
        ] as [JSONObject])
    func `a malformed call is not read`(json: JSONObject) { #expect(CopyCall(json: json) == nil) }

    @Test func `without onSuccessDestroyOriginal, the originals do not end`() {
        let json: JSONObject = ["fromAccountId": "a", "accountId": "b", "create": [:]]
        #expect(CopyCall(json: json)?.endsOriginals == false)
    }

    @Test func `an answer survives its wire form`() throws {
        var answer = CopyAnswer(fromAccountID: "a1", oldState: "e1.1", newState: "e1.2")
        var row = RowPatch(generation: 3, clocks: nil, seq: 2)
        row.firstLife = 1
        answer.created = [("k1", row), (Self.row, RowPatch(mergedInto: "w"))]
        answer.rowIDs = ["k1": Self.row]
        answer.notCreated = [("k2", SetError("behind"))]
        let read = try #require(CopyAnswer(json: answer.json(accountID: "s1")))
        #expect(read.json(accountID: "s1") == answer.json(accountID: "s1"))
        #expect(read.created.map(\.row) == answer.created.map(\.row))
        #expect(read.rowIDs == answer.rowIDs && read.notCreated[0].error == answer.notCreated[0].error)
    }

    @Test func `a tombstone names the row's destination, in a page and in the answer that follows`() throws {
        var tombstone = Tombstone(generation: 2, clock: Self.clock, seq: 7)
        tombstone.movedTo = RowDestination(account: "s1", generation: 3, clock: Self.clock)
        tombstone.firstLife = 1
        #expect(Tombstone(json: tombstone.json) == tombstone)
        #expect(tombstone.json["@movedTo"]?["@gen"] == 3 && tombstone.json["@first"] == 1)
        var answer = SetAnswer(oldState: nil, newState: "e1.7")
        answer.destroyed = [Self.row]
        answer.tombstones = [Self.row: tombstone]
        #expect(SetAnswer(json: answer.json(accountID: "a1"))?.tombstones == [Self.row: tombstone])
        for json: JSON in [["account": 1, "@gen": 3], ["account": "a"], ["account": "a", "@gen": 0]] {
            #expect(Tombstone(json: ["@gen": 2, "@movedTo": json])?.movedTo == nil)
        }
        #expect(RowPatch(json: ["@first": 0])?.firstLife == nil)
    }
}
