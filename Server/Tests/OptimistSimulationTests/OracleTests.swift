// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire
import Testing

@testable import OptimistSimulation

/// A hand-written history. Transaction n of the server happens at 10 × n milliseconds.
private struct Story {
    typealias Tables = [RowName: Values]

    var history = History()
    private var seq: Int64 = 0

    /// A user's write that returned, after the server's last transaction.
    mutating func write(
        _ device: Int, _ after: Tables, from before: Tables = [:], read: Int64 = 0, start: Int64 = 0,
        isDone: Bool = true
    ) {
        let number = history.attempt(
            device: device, at: seq * 10 + 5, tag: "d\(device)w\(history.writes.count)",
            read: history.byRow.mapValues { _ in read }, before: before, after: after, reborn: [])
        if isDone { history.returned(number) }
    }

    /// A transaction of the server. Returns what the oracle finds in it.
    @discardableResult
    mutating func serve(
        _ rows: Tables, gone: Set<RowName> = [], into winner: RowName? = nil, generation: Int = 1, at: Int64? = nil
    ) -> [String] {
        seq += 1
        let clocks = ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: at ?? seq * 10), device: "A"))
        let news = history.serve(
            rows.map { ServedRow(name: $0.key, seq: seq, generation: generation, values: $0.value, clocks: clocks) }
                + gone.map {
                    ServedRow(name: $0, seq: seq, generation: generation + 1, clocks: clocks, mergedInto: winner)
                })
        return Oracle(history: history, clocksAreRight: true).findings(on: news)
    }

    func findings(_ kept: Kept = Kept()) -> [String] {
        Oracle(history: history, clocksAreRight: true, kept: kept).findings()
    }

    func kinds(_ kept: Kept = Kept()) -> [String] { findings(kept).map { String($0.prefix { $0 != ":" }) } }
}

@Suite("The oracle", .timeLimit(.minutes(20)))
struct OracleTests {
    private static let list = RowName(table: "list", id: "01")
    private static let todo = RowName(table: "todo", id: "02")
    private static let memo = RowName(table: "memo", id: "03")
    private static let (tag, other) = (RowName(table: "tag", id: "04"), RowName(table: "tag", id: "05"))

    private static func lists(_ name: String) -> [RowName: Values] { [list: ["name": name]] }
    private static func memos(_ views: Int) -> [RowName: Values] { [memo: ["body": "d0w0.1", "views": "\(views)"]] }

    private static func kept(_ values: Values, of row: RowName, isRefused: Bool) -> Kept {
        var kept = Kept()
        kept.keep(values, of: row, isRefused: isRefused, on: 0)
        return kept
    }

    // MARK: - M1, S1, V2

    @Test func `a write that the server never had is lost`() {
        var story = Story()
        story.write(0, Self.lists("d0w0.1"))
        #expect(story.findings() == ["lost: list:01.name = d0w0.1 of device 0: the server has deleted (M1)"])
        #expect(story.findings(Self.kept(["name": "d0w0.1"], of: Self.list, isRefused: true)) == [])
        story.serve(Self.lists("d0w0.1"))
        #expect(story.findings() == [])
    }

    /// The second device wrote at 15 ms.
    @Test(arguments: [(20, []), (12, ["lost"])] as [(Int64, [String])])
    func `a text is overtaken only by a later text`(at: Int64, found: [String]) {
        var story = Story()
        story.write(0, Self.lists("d0w0.1"))
        story.serve(Self.lists("d0w0.1"))
        story.write(0, Self.lists("d0w1.1"), from: Self.lists("d0w0.1"), read: 1)
        story.write(1, Self.lists("d1w2.1"), from: Self.lists("d0w0.1"), read: 1)
        story.serve(Self.lists("d0w1.1"), at: at)
        #expect(story.kinds(Kept(texts: [1: [Self.list: ["d1w2.1"]]])) == found)
    }

    @Test func `a device's later write replaces its value only if that write happened`() {
        for isDone in [true, false] {
            var story = Story()
            story.write(0, Self.lists("d0w0.1"))
            story.write(0, Self.lists("d0w1.1"), from: Self.lists("d0w0.1"), isDone: isDone)
            #expect(story.kinds() == ["lost"], "one of them must be there")
            story.serve(Self.lists("d0w1.1"))
            #expect(story.findings() == [])
        }
    }

    @Test func `a served value that no user wrote is reported as invented`() {
        var story = Story()
        story.write(0, Self.lists("d0w0.1"))
        #expect(story.serve(Self.lists("d1w9.1")) == ["invented: list:01.name = d1w9.1 (M1)"])
    }

    // MARK: - M2

    @Test func `a row may disappear with a deletion that its device had not read`() {
        for (read, found) in [(1, []), (2, ["lost"])] as [(Int64, [String])] {
            var story = Story()
            story.write(1, Self.lists("d1w0.1"))
            story.serve(Self.lists("d1w0.1"))
            story.write(1, [:], from: Self.lists("d1w0.1"), read: 1)
            story.serve([:], gone: [Self.list])
            story.write(0, Self.lists("d0w2.1"), read: read)
            #expect(story.kinds(Kept(texts: [0: [Self.list: ["d0w2.1"]]])) == found)
        }
    }

    @Test func `a row may disappear with the row above it, but not with an earlier life of that row`() {
        for (read, found) in [(1, []), (3, ["lost", "lost"])] as [(Int64, [String])] {
            var story = Story()
            story.write(1, Self.lists("d1w0.1"))
            story.serve(Self.lists("d1w0.1"))
            story.write(1, [:], from: Self.lists("d1w0.1"), read: 1)
            story.serve([:], gone: [Self.list])
            story.write(1, Self.lists("d1w2.1"), read: 2)
            story.serve(Self.lists("d1w2.1"), generation: 3)
            let whole = Self.lists("d1w2.1").merging([Self.todo: ["listId": Self.list.id, "note": "d0w3.1"]]) { $1 }
            story.write(0, whole, from: Self.lists("d1w2.1"), read: read)
            #expect(story.kinds(Kept(texts: [0: [Self.todo: ["d0w3.1"]]])) == found)
        }
    }

    /// The device may know its own row from a page or only from its push.
    @Test(arguments: [1, 0] as [Int64])
    func `a deleted row is back if it keeps its life`(read: Int64) {
        var story = Story()
        story.write(0, Self.lists("d0w0.1"))
        story.serve(Self.lists("d0w0.1"))
        story.write(0, [:], from: Self.lists("d0w0.1"), read: read)
        #expect(story.findings() == ["back again: list:01, which device 0 deleted at 15 ms (M2)"])
        story.serve([:], gone: [Self.list])
        #expect(story.findings() == [])
        story.history.serverWentBack(to: [ServedRow(name: Self.list, seq: 1, values: ["name": "d0w0.1"])])
        #expect(story.kinds() == ["back again"])
    }

    @Test(arguments: [true, false])
    func `a deleted row with editWins lives again only after a later edit`(isLater: Bool) {
        var story = Story()
        story.write(0, Self.memos(0))
        story.serve(Self.memos(0))
        if !isLater { story.write(1, Self.memos(1), from: Self.memos(0), read: 1) }
        story.serve([:])
        story.write(0, [:], from: Self.memos(0), read: 1)
        story.serve([:], gone: [Self.memo])
        if isLater { story.write(1, Self.memos(1), from: Self.memos(0), read: 1) }
        let found = story.serve(Self.memos(1), generation: 3)
        #expect(found == (isLater ? [] : ["back again: memo:03, which a device deleted (M2)"]))
    }

    @Test func `an edit of a row with editWins outlives an earlier deletion`() {
        for (at, found) in [(30, []), (20, ["lost"])] as [(Int64, [String])] {
            var story = Story()
            story.write(0, Self.memos(0))
            story.serve(Self.memos(0))
            story.write(1, [:], from: Self.memos(0), read: 1)
            story.serve([:])
            story.write(0, [Self.memo: ["body": "d0w2.1", "views": "0"]], from: Self.memos(0), read: 1)
            story.serve([:], gone: [Self.memo], at: at)
            #expect(story.kinds(Kept(texts: [0: [Self.memo: ["d0w0.1", "d0w2.1"]]])) == found)
        }
    }

    // MARK: - S2

    @Test func `the server has all rows of a transaction or none, except refused rows`() {
        let part = Self.lists("d0w0.1")
        let parts = part.merging([Self.memo: ["body": "d0w0.2", "views": "0"]]) { $1 }
        var whole = Story()
        whole.write(0, parts)
        var torn = whole
        #expect(whole.serve(parts) == [])
        #expect(
            torn.serve(part)
                == ["torn: a part of a transaction of device 0 is on the server, but not memo:03.body = d0w0.2 (S2)"])
        var refused = Story()
        refused.write(0, parts.merging([Self.memo: ["body": "refused d0w0.2", "views": "0"]]) { $1 })
        #expect(refused.serve(part) == [])
    }

    // MARK: - M3, M7

    @Test func `a counter is the sum of additions`() {
        for (views, found) in [(3, []), (2, ["miscounted"]), (4, ["miscounted"])] {
            var story = Story()
            story.write(0, Self.memos(0))
            story.write(0, Self.memos(1), from: Self.memos(0))
            story.write(1, Self.memos(2), from: Self.memos(0))
            story.serve(Self.memos(views))
            #expect(story.kinds() == found)
        }
    }

    @Test func `merged rows are counted together`() {
        for (likes, found) in [("3", []), ("2", ["miscounted"])] {
            var story = Story()
            story.write(0, [Self.tag: ["name": "name 2", "likes": "1"]])
            story.write(1, [Self.other: ["name": "name 2", "likes": "2"]])
            story.serve([Self.tag: ["name": "name 2", "likes": likes]], gone: [Self.other], into: Self.tag)
            #expect(story.kinds() == found)
        }
    }

    @Test func `a journal keeps a text that vanishes unseen`() {
        let texts = ["d0w0.1", "d0w1.1", "d1w2.1"].map(Self.lists)
        func kinds(seen: [RowName: Values], to end: [RowName: Values], kept: Set<String> = []) -> [String] {
            var story = Story()
            story.write(0, texts[0])
            story.write(0, texts[1], from: texts[0])
            story.serve(texts[1])
            story.write(1, end, from: seen)
            story.serve(end, gone: end.isEmpty ? [Self.list] : [])
            return story.kinds(Kept(texts: [0: [Self.list: kept]]))
        }
        for end in [texts[2], [:]] {
            #expect(kinds(seen: texts[0], to: end) == ["unseen"])
            #expect(kinds(seen: texts[1], to: end) == [])
            #expect(kinds(seen: texts[0], to: end, kept: ["d0w1.1"]) == [])
        }
    }
}
