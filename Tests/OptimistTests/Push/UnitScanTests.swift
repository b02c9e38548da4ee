// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// Divides pending rows into units, without a store.
@Suite(.timeLimit(.minutes(20)))
struct UnitScanTests {
    private typealias Unit = UnitScan.Unit

    /// A pending row of a group, or a clean row without one.
    private static func row(_ id: Int, _ group: Int64?, isPostponed: Bool = false) -> RowEntry {
        var entry = RowEntry(ref: RowRef(table: 1, id: id.databaseValue), generation: 1)
        entry.local = group.map(Stamp.init(rawValue:)).map {
            LocalEdit(group: $0, stamp: $0, due: isPostponed ? 1 : nil)
        }
        return entry
    }

    private static func rows(_ group: Int64, _ ids: some Sequence<Int>) -> [RowEntry] { ids.map { row($0, group) } }

    private static func scan(_ joins: [GroupJoin] = [], limit: Int = 100) -> UnitScan {
        UnitScan(UnitedGroups(joins), limit: limit, isPostponed: { $0.local?.due != nil })
    }

    /// Feeds rows to a scan until it is full, and ends it.
    private static func gather(
        _ rows: [RowEntry], _ scan: inout UnitScan
    ) -> (units: [Unit], after: Int64?, taken: Int) {
        let taken = rows.firstIndex { !scan.take($0) }.map { $0 + 1 } ?? rows.count
        let (units, after) = scan.end()
        return (units, after, taken)
    }

    private static func gather(
        _ rows: [RowEntry], _ joins: [GroupJoin] = [], limit: Int = 100
    ) -> (units: [Unit], after: Int64?, taken: Int) {
        var scan = scan(joins, limit: limit)
        return gather(rows, &scan)
    }

    @Test func `S2 the rows of one group form one unit, oldest group first`() {
        let (first, second) = (Self.rows(1, [4, 2]), Self.rows(2, [3]))
        let result = Self.gather(first + second)
        #expect(result.units == [.rows(first), .rows(second)])
        #expect(result.after == 2)
    }

    @Test func `rows that are not pending form no unit and end no group`() {
        #expect(Self.gather([]).units.isEmpty)
        #expect(Self.gather([]).after == nil)
        let clean = Self.gather([Self.row(1, nil)])
        #expect(clean.units.isEmpty && clean.after == nil)
        let beside = Self.gather([Self.row(1, 1), Self.row(2, nil), Self.row(3, 1)])
        #expect(beside.units == [.rows(Self.rows(1, [1, 3]))], "a row that is not pending ends no group")
    }

    @Test(arguments: 0...2)
    func `S8 a postponed row holds back all of its group, and no other group`(place: Int) {
        let waiting = (0...2).map { Self.row($0, 2, isPostponed: $0 == place) }
        let (before, behind) = (Self.rows(1, [7]), Self.rows(3, [8, 9]))
        let result = Self.gather(before + waiting + behind)
        #expect(result.units == [.rows(before), .rows(behind)])
        #expect(result.after == 3)
    }

    @Test func `a scan that reaches its limit finishes the current group`() {
        let (first, second, third) = (Self.rows(1, [1, 2]), Self.rows(2, 3...7), Self.rows(3, [8]))
        let result = Self.gather(first + second + third, limit: 3)
        #expect(result.units == [.rows(first), .rows(second)])
        #expect(result.taken == 8, "the scan looked at the next group, and left it")
        #expect(result.after == 2)
        let all = Self.gather(first + second, limit: 7)
        #expect(all.units == [.rows(first), .rows(second)])
    }

    @Test func `postponed rows do not count towards the limit`() {
        let waiting = (1...5).map { Self.row($0, Int64($0), isPostponed: true) }
        let last = Self.rows(9, [9])
        #expect(Self.gather(waiting + last, limit: 1).units == [.rows(last)])
    }

    @Test func `S2 a group of 1,000 rows is one unit, and a larger group is sent row by row`() {
        let whole = Self.rows(1, 1...UnitScan.maxRows)
        #expect(Self.gather(whole, limit: 1).units == [.rows(whole)])
        let large = whole + [Self.row(0, 1)]
        let result = Self.gather(large + Self.rows(2, [5]), limit: 5_000)
        #expect(result.units == [.large([1])])
        #expect(result.taken == large.count, "the scan ends there: a large group is read separately")
        #expect(result.after == 1)
        let postponed = [Self.row(0, 1, isPostponed: true)] + whole
        #expect(Self.gather(postponed).units == [.large([1])], "each row of a large group waits alone")
    }

    @Test func `S2 united groups form one unit, in the place of the first`() {
        let joins = [GroupJoin(4, 2), GroupJoin(4, 6)]
        let (first, alone) = (Self.rows(1, [1]), Self.rows(5, [5]))
        let rows = first + Self.rows(2, [2, 3]) + Self.rows(4, [4]) + alone + Self.rows(6, [6])
        let result = Self.gather(rows, joins)
        #expect(result.units == [.rows(first), .united([2, 4, 6]), .rows(alone)])
        #expect(result.after == 6)
        #expect(
            Self.gather(rows, joins, limit: 4).units == [.rows(first), .united([2, 4, 6])],
            "the united groups count as three")
    }

    @Test func `S2 united groups form one unit even if the scan pauses between them`() {
        var scan = Self.scan([GroupJoin(1, 3)], limit: 1)
        let rows = Self.rows(1, [1]) + Self.rows(2, [2]) + Self.rows(3, [3]) + Self.rows(4, [4])
        #expect(Self.gather(rows, &scan).units == [.united([1, 3])])
        let rest = Self.gather(Array(rows.dropFirst()), &scan)
        #expect(rest.units == [.rows(Self.rows(2, [2]))])
        #expect(rest.after == 2)
        #expect(Self.gather(Array(rows.dropFirst(2)), &scan).units == [.rows(Self.rows(4, [4]))])
    }

    @Test(arguments: 1...200)
    func `S2 S8 wherever scans end, each group appears once and complete, or waits`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let groups = (1...Int.random(in: 1...12, using: &random)).map { Int64($0 * 3) }
        var rows: [RowEntry] = []
        for group in groups {
            let isLarge = Int.random(in: 0..<40, using: &random) == 0
            let count = isLarge ? UnitScan.maxRows + 1 : Int.random(in: 1...4, using: &random)
            for _ in 0..<count {
                rows.append(Self.row(rows.count, group, isPostponed: Int.random(in: 0..<8, using: &random) == 0))
            }
        }
        let joins = (0..<Int.random(in: 0...3, using: &random)).compactMap { _ -> GroupJoin? in
            let pair = [groups.randomElement(using: &random) ?? 0, groups.randomElement(using: &random) ?? 0]
            return pair[0] == pair[1] ? nil : GroupJoin(pair[0], pair[1])
        }
        let limit = Int.random(in: 1...10, using: &random)
        var scan = Self.scan(joins, limit: limit)
        var (found, start): ([Unit], Int64?) = ([], .min)
        while let from = start {
            let result = Self.gather(rows.filter { ($0.local?.group.rawValue ?? 0) > from }, &scan)
            #expect(
                result.units.dropLast().reduce(0) { $0 + Self.count($1) } < limit,
                "the scan takes no unit after it reaches its limit")
            found += result.units
            start = result.after
        }
        #expect(found == Self.expected(rows, of: groups, UnitedGroups(joins)))
    }

    private static func count(_ unit: Unit) -> Int {
        switch unit {
        case .rows(let rows): rows.count
        case .united(let groups), .large(let groups): groups.count
        }
    }

    /// All units, derived directly from the rule.
    private static func expected(_ rows: [RowEntry], of groups: [Int64], _ united: UnitedGroups) -> [Unit] {
        groups.compactMap { group in
            if let all = united.united(with: group) { return all[0] == group ? .united(all) : nil }
            let own = rows.filter { $0.local?.group.rawValue == group }
            if own.count > UnitScan.maxRows { return .large([group]) }
            return own.contains { $0.local?.due != nil } ? nil : .rows(own)
        }
    }
}
