// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistSimulation

@Suite("The judge", .timeLimit(.minutes(20)))
struct JudgeTests {
    private static let list = RowName(table: "list", id: "01")
    private static let todo = RowName(table: "todo", id: "02")

    /// Completed writes, ten milliseconds apart: the device, and the tables before and after.
    private static func history(_ writes: [(Int, [RowName: Values], [RowName: Values])]) -> History {
        var history = History()
        for (number, (device, before, after)) in writes.enumerated() {
            let attempt = history.attempt(
                device: device, at: Int64(number * 10), tag: "d\(device)w\(number + 1)", before: before, after: after,
                reborn: [], shortLived: [])
            history.returned(attempt)
        }
        return history
    }

    private static func findings(_ history: History, server: [RowName: Values]) -> [String] {
        Judge(
            history: history, server: server, clocksAreRight: true, hasForgotten: false, refused: [:], journaled: [:]
        ).findings()
    }

    @Test func `a row that its device deleted is not back, and every value was written by a device`() {
        let made: [RowName: Values] = [Self.list: ["name": "d0w1.1"]]
        let history = Self.history([(0, [:], made), (0, made, [:])])
        #expect(Self.findings(history, server: [:]) == [])
        #expect(Self.findings(history, server: made) == ["back again: list:01, which device 0 deleted at 10 ms"])
        let other = Self.findings(Self.history([(0, [:], made)]), server: [Self.list: ["name": "d1w1.1"]])
        #expect(other.contains("invented: list:01.name = d1w1.1"))
        #expect(other.contains { $0.hasPrefix("lost: list:01.name = d0w1.1 of device 0") })
    }

    @Test func `of two edits the later one wins`() {
        let tables = (1...3).map { [Self.list: ["name": "d\($0 % 2)w\($0).1"]] as [RowName: Values] }
        let history = Self.history([(1, [:], tables[0]), (0, tables[0], tables[1]), (1, tables[1], tables[2])])
        #expect(Self.findings(history, server: tables[2]) == [])
        #expect(
            Self.findings(history, server: tables[1])
                == ["lost: list:01.name = d1w3.1 of device 1: the server has d0w2.1, which is older"])
    }

    @Test func `an overwritten text is in a journal, or was shown to the device that replaced or deleted it`() {
        let tables = ["d0w1.1", "d0w2.1", "d1w3.1"].map { [Self.list: ["name": $0]] as [RowName: Values] }
        func findings(seen: [RowName: Values], server: [RowName: Values], kept: Set<String> = []) -> [String] {
            let history = Self.history([(0, [:], tables[0]), (0, tables[0], tables[1]), (1, seen, server)])
            return UnseenJudge(history: history, server: server, kept: [0: [Self.list: kept]]).findings()
        }
        for end in [tables[2], [:]] {
            let found = findings(seen: tables[0], server: end)
            #expect(found.count == 1)
            #expect(found.first?.hasPrefix("unseen: list:01.name = d0w2.1 of device 0 is gone") == true)
            #expect(findings(seen: tables[1], server: end) == [])
            #expect(findings(seen: tables[0], server: end, kept: ["d0w2.1"]) == [])
        }
    }

    @Test func `a counter is the sum of all increments, each counted once`() {
        let memo = RowName(table: "memo", id: "03")
        func memos(_ views: Int) -> [RowName: Values] { [memo: ["body": "d0w1.1", "views": "\(views)"]] }
        let history = Self.history([(0, [:], memos(0)), (0, memos(0), memos(1)), (1, memos(0), memos(2))])
        #expect(Self.findings(history, server: memos(3)) == [])
        for wrong in [2, 4] {
            #expect(
                Self.findings(history, server: memos(wrong))
                    == ["miscounted: memo:03.views is \(wrong), but 3 to 3 was added"])
        }
    }

    @Test func `the server has all of a transaction or nothing`() {
        let memo = RowName(table: "memo", id: "03")
        let both: [RowName: Values] = [Self.list: ["name": "d0w1.1"], memo: ["body": "d0w1.2", "views": "0"]]
        var history = Self.history([(0, [:], both)])
        var torn = history
        let first = torn.serve([ServedRow(name: Self.list, seq: 1, values: both[Self.list])])
        #expect(
            WholenessJudge(history: torn).findings(first)
                == ["torn: a part of a transaction of device 0 is on the server, but not memo:03.body = d0w1.2"])
        let all = history.serve(both.map { ServedRow(name: $0.key, seq: 1, values: $0.value) })
        #expect(WholenessJudge(history: history).findings(all) == [])
    }

    /// The findings when the first device creates, deletes and creates a list again, adds a to-do, and the to-do is
    /// gone.
    private func findings(
        deletedBy device: Int = 0, isRestored: Bool = false, refused: [RowName: [Refused]] = [:]
    ) -> [String] {
        let first: [RowName: Values] = [Self.list: ["name": "d0w1.1"]]
        let second: [RowName: Values] = [Self.list: ["name": "d0w3.1"]]
        let whole = second.merging([Self.todo: ["listId": Self.list.id, "content": "d0w4.1"]]) { $1 }
        let writes: [(Int, [RowName: Values], [RowName: Values])] = [
            (0, [:], first), (device, first, [:]), (0, [:], second), (0, second, whole),
        ]
        var history = Self.history(writes)
        if isRestored { history.forgive(device: 0, since: 100) }
        return Judge(
            history: history, server: second, clocksAreRight: true, hasForgotten: false, refused: refused,
            journaled: [:]
        ).findings()
    }

    private static let (tag, other) = (RowName(table: "tag", id: "01"), RowName(table: "tag", id: "02"))

    /// The findings when a device gave a tag another one's name, and the tag has its former name at the end.
    private func findings(isCounted: Bool, isAnothers: Bool, hasGoneBack: Bool) -> [String] {
        func tags(_ name: String, _ likes: String, _ second: String?) -> [RowName: Values] {
            var tags: [RowName: Values] = [Self.tag: ["name": name, "likes": likes]]
            if let second { tags[Self.other] = ["name": second, "likes": "0"] }
            return tags
        }
        let second = isAnothers ? "name 2" : "name 3"
        let writes: [(Int, [RowName: Values], [RowName: Values])] = [
            (0, [:], tags("name 1", "0", nil)),
            (1, tags("name 1", "0", nil), tags("name 1", isCounted ? "1" : "0", nil)),
            (2, tags("name 1", "1", nil), tags("name 1", "1", second)),
            (0, tags("name 1", "0", nil), tags("name 2", "0", nil)),
        ]
        var history = Self.history(writes)
        if hasGoneBack { history.serverWentBack(to: []) }
        return Self.findings(history, server: tags("name 1", isCounted ? "1" : "0", second))
    }

    @Test func `a merged row may return next to its successor after a restore if another device had counted in it`() {
        #expect(findings(isCounted: true, isAnothers: true, hasGoneBack: true) == [])
        for (isCounted, isAnothers, hasGoneBack) in [(false, true, true), (true, false, true), (true, true, false)] {
            let lost = findings(isCounted: isCounted, isAnothers: isAnothers, hasGoneBack: hasGoneBack)
            #expect(lost.count == 1)
            #expect(lost.first?.hasPrefix("lost: \(Self.tag).name = name 2") == true)
        }
    }

    @Test func `a row must not disappear with a list that its own device had deleted and created again`() {
        let lost = findings()
        #expect(lost.count == 2)
        #expect(lost.allSatisfy { $0.hasPrefix("lost: \(Self.todo).") && $0.hasSuffix("no device deleted it") })
    }

    @Test func `a row may disappear with a list that another device deleted at any time`() {
        #expect(findings(deletedBy: 1) == [])
    }

    @Test func `a row may disappear with a list whose new life was refused, or on a restored device`() {
        #expect(findings(refused: [Self.list: [Refused(kind: "create", values: [:])]]) == [])
        #expect(findings(isRestored: true) == [])
    }
}
