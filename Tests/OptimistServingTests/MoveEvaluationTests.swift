// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// The server's decisions about one row that moves from A to B, and about writes to lives before a move.
@Suite(.timeLimit(.minutes(20)))
struct MoveEvaluationTests {
    /// A row as the server has it: `life 3 since 1: name` if alive, `end 2 since 1, C 3 at 15` if moved, `end 2`, or
    /// nothing. `at home` gives the time when the column named the row's space.
    struct Case: Sendable, CustomTestStringConvertible {
        var a = ""
        var b = ""
        var sent: Sent
        var verdict: String
        var thenA: String?
        var thenB: String?

        var testDescription: String { "A: \(a). B: \(b). \(sent). \(verdict)" }
    }

    enum Sent: Sendable {
        case copy(life: Int = 1, since: Int? = nil, isWhole: Bool = false, at: Int64 = 15)
        /// A move to B that names another space, or none.
        case copyNaming(MoveStore.Place?)
        case edit(life: Int)
        case create(life: Int, since: Int? = nil)
        case delete(life: Int, since: Int? = nil)
    }

    static let copies: [Case] = [
        Case(
            a: "life 1: A", sent: .copy(), verdict: "life 3 since 1", thenA: "end 2 since 1, B 3 at 15",
            thenB: "life 3 since 1: A"),
        Case(
            a: "life 3 since 1: A", sent: .copy(), verdict: "life 5 since 1", thenA: "end 4 since 1, B 5 at 15",
            thenB: "life 5 since 1: A"),
        Case(
            a: "life 1: A", b: "end 4", sent: .copy(), verdict: "life 5 since 1", thenA: "end 2 since 1, B 5 at 15",
            thenB: "life 5 since 1: A"),
        Case(
            a: "life 3 since 1: A", b: "end 2 since 1, A 3 at 5", sent: .copy(life: 3), verdict: "life 5 since 1",
            thenA: "end 4 since 1, B 5 at 15", thenB: "life 5 since 1: A"),
        // Another row with the same id.
        Case(a: "life 1: A", b: "life 1: D", sent: .copy(), verdict: "idTaken"),
        // The same row, after a restored server has lost its move.
        Case(
            a: "life 1: A", b: "life 3 since 1: D", sent: .copy(), verdict: "life 3 since 1",
            thenA: "end 2 since 1, B 3 at 50", thenB: "life 3 since 1: D"),
        Case(
            a: "life 3 since 1: A", b: "life 1: D", sent: .copy(life: 3), verdict: "life 5 since 1",
            thenA: "end 4 since 1, B 5 at 50", thenB: "life 5 since 1: D"),
        // The same row, sent again by a device that did not know the first life.
        Case(
            a: "life 1: A", b: "life 3: D", sent: .copy(), verdict: "life 3 since 1",
            thenA: "end 2 since 1, B 3 at 50", thenB: "life 3 since 1: D"),
        Case(
            a: "life 5 since 3: A", b: "life 1: D", sent: .copy(life: 5), verdict: "life 7 since 1",
            thenA: "end 6 since 3, B 7 at 50", thenB: "life 7 since 1: D"),
        // The row is no longer there.
        Case(a: "end 2 since 1, C 3 at 5", sent: .copy(), verdict: "gone: end 2 since 1, C 3 at 5"),
        Case(a: "end 4 since 3, C 5 at 5", sent: .copy(), verdict: "gone: end 4 since 3, C 5 at 5"),
        Case(a: "end 2", sent: .copy(), verdict: "gone: end 2"),
        Case(a: "end 2", sent: .copy(isWhole: true), verdict: "gone: end 2"),
        Case(a: "life 3: A", sent: .copy(), verdict: "behind"),
        // The server does not know the row, or this life.
        Case(sent: .copy(), verdict: "notFound"),
        Case(a: "life 1: A", sent: .copy(life: 3), verdict: "lifeUnknown"),
        Case(
            sent: .copy(isWhole: true), verdict: "life 3 since 1", thenA: "end 2 since 1, B 3 at 15",
            thenB: "life 3 since 1: sent"),
        Case(
            a: "end 2", sent: .copy(life: 3, isWhole: true), verdict: "life 5 since 3",
            thenA: "end 4 since 3, B 5 at 15", thenB: "life 5 since 3: sent"),
        Case(a: "end 2", sent: .copy(life: 3, since: 1, isWhole: true), verdict: "gone: end 2"),
        Case(
            a: "life 1: A", sent: .copy(life: 5, since: 1, isWhole: true), verdict: "life 7 since 1",
            thenA: "end 6 since 1, B 7 at 15", thenB: "life 7 since 1: sent"),
        // The later of two moves wins.
        Case(
            a: "life 3 since 1: A at home 30", sent: .copy(life: 3), verdict: "behind", thenA: "life 3 since 1: A"),
        Case(a: "life 1: A", sent: .copyNaming(nil), verdict: "behind"),
        Case(a: "life 1: A", sent: .copyNaming(.c), verdict: "crossesSpaces"),
    ]

    static let edits: [Case] = [
        Case(b: "end 2 since 1, A 3 at 15", sent: .edit(life: 1), verdict: "gone: end 2 since 1, A 3 at 15"),
        Case(b: "life 3 since 1: A", sent: .edit(life: 1), verdict: "life 3 since 1", thenB: "life 3 since 1: sent"),
        Case(b: "life 3: A", sent: .edit(life: 1), verdict: "life 3"),
        Case(sent: .create(life: 3, since: 1), verdict: "as sent", thenB: "life 3 since 1: sent"),
        Case(
            b: "life 1: A", sent: .create(life: 3, since: 1), verdict: "as sent", thenB: "life 3 since 1: sent"),
        Case(b: "end 2", sent: .create(life: 3, since: 1), verdict: "gone: end 2"),
        Case(
            b: "end 2 since 1, A 3 at 15", sent: .create(life: 5, since: 1), verdict: "gone: end 2 since 1, A 3 at 15"),
        Case(b: "end 2 since 1, A 3 at 15", sent: .create(life: 3), verdict: "as sent", thenB: "life 3: sent"),
        Case(
            b: "end 2 since 1, A 3 at 15", sent: .delete(life: 1), verdict: "gone: end 2 since 1, A 3 at 15"),
        Case(
            b: "end 2 since 1, A 3 at 15", sent: .delete(life: 5, since: 1), verdict: "gone: end 2 since 1, A 3 at 15"),
        Case(b: "end 2 since 1, A 3 at 15", sent: .delete(life: 5), verdict: "as sent", thenB: "end 6"),
        Case(b: "life 3 since 1: A", sent: .delete(life: 1), verdict: "as sent", thenB: "end 4"),
        Case(b: "life 5 since 3: A", sent: .delete(life: 1), verdict: "as sent"),
    ]

    @Test(arguments: copies + edits)
    func `P4 the server continues a row's lives in one account`(of move: Case) throws {
        var store = MoveStore()
        try store.put(move.a, .list, in: .a)
        try store.put(move.b, .list, in: .b)
        let evaluation = try store.push([(move.sent.operation, .b)])
        #expect(Self.text(evaluation.verdicts[0]) == move.verdict)
        #expect(store.text(.list, in: .a) == move.thenA ?? move.a)
        #expect(store.text(.list, in: .b) == move.thenB ?? move.b)
        let isMove = evaluation.operations[0].source != nil && evaluation.verdicts[0].error == nil
        #expect((evaluation.departures[0] != nil) == isMove)
    }

    private static func text(_ verdict: RowVerdict) -> String {
        switch verdict {
        case .accepted(nil): "as sent"
        case .accepted(let won?): "life \(won.generation ?? 0)" + (won.firstLife.map { " since \($0)" } ?? "")
        case .gone(let end?):
            "gone: end \(end.generation)"
                + (end.movedTo.map { " since \(end.firstLife ?? 0), \(MoveStore.text($0))" } ?? "")
        case .gone(nil): "gone"
        case .mergedInto: "merged"
        case .refused(let error): error.type
        }
    }
}

extension MoveEvaluationTests.Sent {
    var operation: RowOperation {
        let values: JSONObject = ["name": "sent", "space": MoveStore.Place.b.space]
        switch self {
        case .copy(let life, let first, let isWhole, let time):
            let sent = isWhole ? values : ["space": MoveStore.Place.b.space]
            return .copy(.list, from: .a, sent, at: time, life: life, since: first, isWhole: isWhole)
        case .copyNaming(let place):
            return .copy(.list, from: .a, place.map { ["space": $0.space] } ?? [:], at: 15)
        case .edit(let life): return .update(.list, ["name": "sent"], at: .at(15), generation: life)
        case .create(let life, let first):
            var patch = RowPatch(generation: life, clocks: ColumnClocks(common: .at(15)), values: values)
            patch.firstLife = first
            return RowOperation(key: .list, action: .create(patch))
        case .delete(let life, let first):
            var tombstone = Tombstone(generation: life + 1, clock: .at(15))
            tombstone.firstLife = first
            return RowOperation(key: .list, action: .destroy(tombstone))
        }
    }
}

// MARK: - Rows as text

extension MoveStore {
    static func text(_ destination: RowDestination) -> String {
        let place = Place(account: destination.account).map { "\($0)".uppercased() } ?? "?"
        let time = destination.clock.map { $0.stamp.milliseconds - milliseconds } ?? 0
        return "\(place) \(destination.generation) at \(time)"
    }

    func text(_ key: RowKey, in place: Place) -> String {
        guard let stored = self[key, place] else { return "" }
        let since = stored.memory.hasMoved ? " since \(stored.memory.firstLife ?? 0)" : ""
        if stored.row.isAlive {
            return "life \(stored.row.generation)\(since): \(stored.row.cells["name"]?.value.string ?? "")"
        }
        return "end \(stored.row.generation)\(since)" + (stored.memory.movedTo.map { ", \(Self.text($0))" } ?? "")
    }

    fileprivate mutating func put(_ text: String, _ key: RowKey, in place: Place) throws {
        if text.isEmpty { return }
        let words = text.split { " :,".contains($0) }.map(String.init)
        func number(after word: String) -> Int? {
            words.firstIndex(of: word).flatMap { $0 + 1 < words.count ? Int(words[$0 + 1]) : nil }
        }
        var memory = RowMemory(firstLife: number(after: "since"))
        memory.hasMoved = memory.firstLife != nil
        if let life = number(after: "life") {
            let name = try #require(words.first { ["A", "D"].contains($0) })
            let clock = WriteClock.at(name == "D" ? 50 : 10)
            let home = WriteClock.at(Int64(number(after: "home") ?? (name == "D" ? 50 : 10)))
            let row = MergeRow(
                generation: life, cells: ["name": Cell(.string(name), clock), "space": Cell(place.space, home)])
            return try put(row, memory, key, in: place)
        }
        if let time = number(after: "at"), let target = words.firstIndex(where: { ["A", "B", "C"].contains($0) }) {
            let there = try #require(Place.allCases.first { "\($0)".uppercased() == words[target] })
            memory.movedTo = RowDestination(
                account: there.account, generation: try #require(Int(words[target + 1])), clock: .at(Int64(time)))
        }
        let end = try #require(number(after: "end"))
        try put(MergeRow(generation: end, deletion: .at(12)), memory, key, in: place)
    }
}
