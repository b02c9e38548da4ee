// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistSimulation

/// A hand-written history of two people, Ann and Bob, and a space.
private struct SharedStory {
    static let space = "11111111-1111-4111-8111-111111111111"
    static let account = "s" + space.replacing("-", with: "")
    static let list = RowName(table: "list", id: "22222222222242228222222222222222")
    static let todo = RowName(table: "todo", id: "33333333333343338333333333333333")
    static let present = Date(timeIntervalSince1970: 1_790_000_000)

    var history = SharedHistory()
    private(set) var findings: [String] = []
    private var seqs: [String: Int64] = [:]

    /// A transaction of one account.
    mutating func serve(
        _ account: String, _ rows: [(table: String, id: String, generation: Int, json: String)] = [],
        members: [(person: String, role: String, end: String?)]? = nil
    ) throws {
        let seq = (seqs[account] ?? 0) + 1
        seqs[account] = seq
        let former = history.accounts[account]?.members ?? []
        let present = members.map { members in
            members.map { member in
                let end = member.end == nil ? nil : former.first { $0.person == member.person }?.endedSeq ?? seq
                return AccountNews.Member(
                    person: member.person, role: member.role, joinedSeq: 1, endedSeq: end, reason: member.end)
            }
        }
        let news = [
            AccountNews(
                account: account, seq: seq,
                rows: rows.map {
                    StoredVersion(
                        table: $0.table, id: $0.id, generation: $0.generation, seq: seq, content: Array($0.json.utf8))
                }, members: present ?? former)
        ]
        let before = history
        try history.serve(news)
        findings += SharingLaw(history).findings(on: news, after: before, at: Self.present)
    }

    mutating func found(_ members: [(person: String, role: String, end: String?)] = [("ann", "owner", nil)]) throws {
        try serve(Self.account, members: members)
    }

    static func listRow(
        _ name: String = "d0w0.1", in space: String? = Self.space, generation: Int = 1, at milliseconds: Int64 = 10
    ) -> (table: String, id: String, generation: Int, json: String) {
        let place = space.map { "\"\($0)\"" } ?? "null"
        let clock = String(milliseconds << 16, radix: 16)
        let padded = String(repeating: "0", count: 16 - clock.count) + clock
        return (list.table, list.id, generation, "{\"name\":\"\(name)\",\"space\":\(place),\"@hlc\":\"\(padded)-A\"}")
    }

    static func todoRow(
        points: Int = 0, generation: Int = 1
    ) -> (table: String, id: String, generation: Int, json: String) {
        (todo.table, todo.id, generation, "{\"content\":\"d0w0.2\",\"listId\":\"\(list.id)\",\"points\":\(points)}")
    }

    static func invitation(
        uses: Int = 1, used: Int = 0, role: String = "writer", ends: String = "2027-01-01T00:00:00Z"
    ) -> (table: String, id: String, generation: Int, json: String) {
        (
            "optimist_invitation", "44444444-4444-4444-8444-444444444444", 1,
            "{\"role\":\"\(role)\",\"uses\":\(uses),\"used\":\(used),\"endsAt\":\"\(ends)\"}"
        )
    }

    /// A user's write that returned.
    mutating func write(
        _ device: Int, at milliseconds: Int64, _ change: (inout SharedHistory.Write) -> Void,
        outcome: SharedHistory.Outcome = .returned
    ) {
        var write = SharedHistory.Write(device, at: milliseconds)
        change(&write)
        let number = history.attempt(write)
        history.ended(number, outcome)
    }

    func kinds(_ kept: SharedKept = SharedKept()) -> [String] {
        (findings + SharingLaw(history).findings(keeping: kept, clocksAreRight: true)).map {
            String($0.prefix { $0 != ":" })
        }
    }
}

@Suite("The law of people who share", .timeLimit(.minutes(20)))
struct SharingLawTests {
    private var story = SharedStory()
    private typealias S = SharedStory

    @Test mutating func `P2 a row that lives in two accounts is found`() throws {
        try story.found()
        try story.serve(S.account, [S.listRow()])
        #expect(story.kinds() == [])
        try story.serve("ann", [S.listRow(in: nil)])
        #expect(story.kinds() == ["two places"])
    }

    @Test mutating func `P3 a row without its parent, and a root that names another space, are found`() throws {
        try story.found()
        try story.serve(S.account, [S.todoRow()])
        #expect(story.kinds() == ["whole"])
        try story.serve(S.account, [S.listRow(in: nil)])
        #expect(story.kinds() == ["whole", "whole"])
    }

    @Test mutating func `P10 members without an owner are found`() throws {
        try story.found([("ann", "writer", nil)])
        #expect(story.kinds() == ["owner"])
    }

    @Test(arguments: [
        (S.invitation(), false, []), (S.invitation(), true, ["ticket"]),
        (S.invitation(used: 1), false, ["ticket"]), (S.invitation(role: "reader"), false, ["ticket"]),
        (S.invitation(ends: "2020-01-01T00:00:00Z"), false, ["ticket"]),
    ])
    mutating func `P9 a person who enters without an open invitation is found`(
        invitation: (table: String, id: String, generation: Int, json: String), wasRemoved: Bool, found: [String]
    ) throws {
        try story.found()
        try story.serve(S.account, [invitation])
        if wasRemoved { try story.found([("ann", "owner", nil), ("bob", "writer", "removed")]) }
        try story.found([("ann", "owner", nil), ("bob", "writer", nil)])
        #expect(story.kinds() == found)
    }

    @Test mutating func `S1 a text that is nowhere is found, unless a journal has it or its device replaced it`() throws
    {
        story.write(0, at: 5) { $0.texts = [S.list: "d0w0.1"] }
        #expect(story.kinds() == ["lost"])
        #expect(story.kinds(SharedKept(texts: [0: ["d0w0.1"]])) == [])
        #expect(story.kinds(SharedKept(texts: [1: ["d0w0.1"]])) == ["lost"])
        story.write(0, at: 6) { $0.deleted = [S.list] }
        #expect(story.kinds() == [])
    }

    @Test mutating func `P4 a deleted row that lives is found, and a row that nobody deleted and that is gone`() throws
    {
        try story.found()
        try story.serve(S.account, [S.listRow()])
        story.write(0, at: 5) { $0.texts = [S.list: "d0w0.1"] }
        story.write(1, at: 20) { ($0.person, $0.deleted) = ("bob", [S.list]) }
        #expect(story.kinds() == [])
        story.write(1, at: 20) { ($0.person, $0.deleted) = ("ann", [S.list]) }
        #expect(story.kinds() == ["undead"])
        #expect(story.kinds(SharedKept(refused: [1: [S.list]])) == [])
        var other = SharedStory()
        try other.found()
        try other.serve(S.account, [S.listRow()])
        try other.serve(S.account, [S.listRow(generation: 2)])
        #expect(other.kinds() == ["lost"])
    }

    @Test mutating func `P4 a row that is gone is lost, unless a device deleted the row above it`() throws {
        try story.found()
        try story.serve(S.account, [S.listRow(), S.todoRow()])
        try story.serve(S.account, [S.listRow(generation: 2), S.todoRow(generation: 2)])
        #expect(story.kinds() == ["lost", "lost"])
        story.write(1, at: 20) { $0.deleted = [S.list] }
        #expect(story.kinds() == [])
    }

    @Test mutating func `P12 the rows of a space that ended are not lost if a restored server has the space again`()
        throws
    {
        try story.found()
        try story.serve(S.account, [S.listRow()])
        try story.serve(S.account, members: [("ann", "owner", "left")])
        try story.history.goBack(to: [])
        #expect(story.kinds() == [])
        var other = SharedStory()
        try other.found()
        try other.serve(S.account, [S.listRow()])
        try other.history.goBack(to: [])
        #expect(other.kinds() == ["lost"])
    }

    @Test mutating func `P4 a list that is where an earlier move put it is found`() throws {
        try story.found()
        try story.serve(S.account, [S.listRow()])
        story.write(0, at: 5) { $0.texts = [S.list: "d0w0.1"] }
        story.write(0, at: 5) { $0.places = [S.list: S.space.replacing("-", with: "")] }
        #expect(story.kinds() == [])
        // Bob is not a member of the space.
        for (person, kinds) in [("bob", []), ("ann", ["move"])] {
            story.write(1, at: 20) { ($0.person, $0.places) = (person, [S.list: String?.none]) }
            #expect(story.kinds() == kinds)
        }
        #expect(story.kinds(SharedKept(refused: [1: [S.list]])) == [])
        try story.serve(S.account, [S.listRow(generation: 2)])
        try story.serve("ann", [S.listRow(in: nil, generation: 3)])
        #expect(story.kinds(SharedKept(refused: [1: [S.list]])) == [])
    }

    @Test mutating func `M1 a row with an earlier text is found`() throws {
        try story.found()
        try story.serve(S.account, [S.listRow()])
        story.write(0, at: 10) { $0.texts = [S.list: "d0w0.1"] }
        story.write(1, at: 9) { $0.texts = [S.list: "d1w0.1"] }
        #expect(story.kinds(SharedKept(texts: [1: ["d1w0.1"]])) == [])
        try story.serve(S.account, [S.listRow("d2w0.1", at: 30)])
        try story.serve(S.account, [S.listRow(at: 10)])
        story.write(2, at: 30) { $0.texts = [S.list: "d2w0.1"] }
        #expect(story.kinds(SharedKept(texts: [1: ["d1w0.1"]])) == ["text"])
    }

    @Test mutating func `M3 a counter other than the sum of additions is found`() throws {
        try story.found()
        try story.serve(S.account, [S.listRow(), S.todoRow(points: 3)])
        story.write(0, at: 5) { $0.points = [S.todo: 2] }
        #expect(story.kinds() == ["count"])
        story.write(1, at: 5) { $0.points = [S.todo: 1] }
        #expect(story.kinds() == [])
        story.write(1, at: 5) { $0.points = [S.todo: 4] }
        #expect(story.kinds() == ["count"])
        #expect(story.kinds(SharedKept(points: [S.todo: 4])) == [])
    }

    @Test mutating func `a write that failed, and that the server has, is found`() throws {
        try story.found()
        try story.serve(S.account, [S.listRow()])
        story.write(0, at: 5, { $0.texts = [S.list: "d0w0.1"] }, outcome: .failed)
        #expect(story.kinds() == ["failed"])
    }
}
