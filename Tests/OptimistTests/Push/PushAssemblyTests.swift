// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// Assembles pushes from unsent rows, without a store.
@Suite(.timeLimit(.minutes(20)))
struct PushAssemblyTests {
    private typealias Unsent = PushAssembly.Unsent

    private static let device = "D"
    private static let pending = Stamp(milliseconds: 1_000)
    private static let clock = WriteClock(stamp: pending, device: device)
    private static let layout = TableLayout(
        number: 1, name: "step", idForm: .text,
        columns: [
            .init(name: "text", bit: 1, form: .string, isNullable: false),
            .init(
                name: "parent", bit: 2, form: .reference(.text), isNullable: true,
                reference: Reference(table: "step", onDelete: .cascade)),
            .init(name: "likes", bit: 3, form: .counter, isNullable: true),
        ], rules: SyncRules(counters: ["likes"]))
    private static let text = 1 << 1 as Int64

    private static func id(_ number: Int) -> String {
        "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
    }

    /// A new row, unless `edit` changes that.
    private static func step(
        _ number: Int, _ text: String = "", parent: Int? = nil, edit: (inout RowEntry) -> Void = { _ in }
    ) -> Unsent {
        var entry = RowEntry(
            ref: RowRef(table: 1, id: id(number).databaseValue), generation: 1,
            local: LocalEdit(group: pending, stamp: pending, dirty: TableLayout.lifeMask | 0b110))
        edit(&entry)
        let values: JSONObject = ["text": .string(text), "parent": parent.map { .string(id($0)) } ?? .null]
        return Unsent(entry: entry, values: entry.isAlive ? values : [:], layout: layout)
    }

    private static func deleted(_ entry: inout RowEntry) {
        entry.generation = 2
        entry.remote.hear(life: 1)
    }

    private static func assembly(rows: Int = 100, bytes: Int = 1 << 40) -> PushAssembly {
        PushAssembly(device: device, limit: PushLimit(rows: rows, bytes: bytes))
    }

    private func change(_ unsent: Unsent) throws -> RemotePush.Row.Change {
        var assembly = Self.assembly()
        let hasRoom = assembly.add([unsent])
        #expect(hasRoom)
        return try #require(assembly.rows.first).change
    }

    /// Text so long that `count` rows with it exceed the size limit of a group.
    private static func large(_ count: Int) -> String {
        String(repeating: "x", count: PushAssembly.maxGroupBytes / count + 1)
    }

    // MARK: - Changes

    @Test func `S1 a push creates a row with all columns, updates it with the unsent ones, or deletes it`() throws {
        let made = RowPatch(
            generation: 1, clocks: ColumnClocks(common: Self.clock), values: ["text": "a", "parent": nil])
        #expect(try change(Self.step(1, "a")) == .create(made))
        let edited = Self.step(1, "b") { entry in
            entry.remote.hear(life: 1)
            entry.local = LocalEdit(group: Self.pending, stamp: Self.pending, dirty: Self.text)
        }
        var changed = RowPatch(generation: 1, clocks: ColumnClocks(common: Self.clock), values: ["text": "b"])
        changed.read = ColumnClocks()
        #expect(try change(edited) == .update(changed))
        var deleted = Tombstone(generation: 2, clock: Self.clock)
        deleted.read = ColumnClocks()
        #expect(try change(Self.step(1, edit: Self.deleted)) == .delete(deleted))
    }

    @Test func `W4 each column is sent with the clock of its last write`() throws {
        let later = Stamp(milliseconds: 2_000)
        let unsent = Self.step(1, "a") { $0.local?.stamp(Self.layout.columns[0], later) }
        guard case .create(let patch) = try change(unsent) else {
            Issue.record("the row is new")
            return
        }
        #expect(patch.clocks?["text"] == WriteClock(stamp: later, device: Self.device))
        #expect(patch.clocks?["parent"] == Self.clock)
    }

    @Test func `M3 a counter is sent as the device's total, if the device has counted`() throws {
        let unsent = Self.step(1, "a") { entry in
            entry.local?.add(1 << 3)
            entry.counters[3] = Counter(totals: [Self.device: Counter.Total(value: 5, stamp: Self.pending)])
        }
        guard case .create(let patch) = try change(unsent), case .create(let other) = try change(Self.step(1, "a"))
        else {
            Issue.record("the rows are new")
            return
        }
        #expect(patch.values["likes"] == ["@total": 5])
        #expect(other.values["likes"] == nil)
    }

    @Test func `L1 a new life carries the values of unknown columns`() throws {
        var unsent = Self.step(1, "a")
        unsent.unknown = RowPatch(values: ["alarm": 7])
        guard case .create(let patch) = try change(unsent) else {
            Issue.record("the row is new")
            return
        }
        #expect(patch.values == ["text": "a", "parent": nil, "alarm": 7])
    }

    @Test func `S4 a push records the values it sends of each row and the columns sent earlier`() throws {
        var assembly = Self.assembly()
        let unsent = Self.step(1, "b") { entry in
            entry.remote.hear(life: 1)
            entry.local = LocalEdit(group: Self.pending, stamp: Self.pending, dirty: Self.text, sent: 0b100)
        }
        let hasRoom = assembly.add([unsent])
        #expect(hasRoom)
        let sent = try #require(assembly.sent.first)
        #expect((sent.ref, sent.kind, sent.generation) == (unsent.entry.ref, .update, 1))
        #expect((sent.mask, sent.sentBefore) == (Self.text, 0b100))
        #expect(sent.values == ["text": "b"])
        #expect(sent.clocks == ["text": .own(Self.pending)])
    }

    @Test func `a row without a UUID is left out of the push`() {
        let nameless = Unsent(
            entry: RowEntry(ref: RowRef(table: 1, id: 5.databaseValue), generation: 1), values: [:], layout: Self.layout
        )
        var assembly = Self.assembly()
        let hasRoom = assembly.add([nameless, Self.step(1)])
        #expect(hasRoom)
        #expect(assembly.rows.map(\.id) == [Self.id(1)])
        #expect(assembly.sent.count == 1)
        #expect(assembly.groups.isEmpty, "one row is not a group")
    }

    // MARK: - Limits

    @Test func `S2 a unit is sent completely or not at all`() {
        var assembly = Self.assembly(rows: 3)
        let fits = [[1, 2], [3, 4], [5], [6], []].map { assembly.add($0.map { Self.step($0) }) }
        #expect(fits == [true, false, true, false, true])
        #expect(assembly.rows.map(\.id) == [1, 2, 5].map(Self.id))
        #expect(assembly.sent.count == 3)
        #expect(assembly.groups == [0..<2])
    }

    @Test func `a push ends before a unit that would exceed its byte limit`() {
        var assembly = Self.assembly(bytes: 2_000)
        let text = String(repeating: "x", count: 800)
        let fits = (1...3).map { assembly.add([Self.step($0, text)]) }
        #expect(fits == [true, true, false])
        #expect(assembly.rows.count == 2)
    }

    @Test(arguments: [(2, 1 << 40), (100, 10)])
    func `the first unit always fits, whatever its size`(rows: Int, bytes: Int) {
        var assembly = Self.assembly(rows: rows, bytes: bytes)
        let fits = [[1, 2, 3], [4]].map { assembly.add($0.map { Self.step($0) }) }
        #expect(fits == [true, false])
        #expect(assembly.groups == [0..<3])
    }

    // MARK: - Oversized units

    @Test func `S2 a unit of 5 MB is one group, and a larger unit is sent row by row, parents first`() {
        func groups(_ text: String) -> (ids: [String], groups: [Range<Int>]) {
            var assembly = Self.assembly()
            let hasRoom = assembly.add([Self.step(1, text, parent: 2), Self.step(2, text, parent: 3), Self.step(3)])
            #expect(hasRoom)
            return (assembly.rows.map(\.id), assembly.groups)
        }
        let whole = groups(String(repeating: "x", count: 2_400_000))
        #expect(whole.ids == [1, 2, 3].map(Self.id))
        #expect(whole.groups == [0..<3])
        let single = groups(Self.large(2))
        #expect(single.ids == [3, 2, 1].map(Self.id))
        #expect(single.groups.isEmpty)
    }

    @Test func `S2 rows of a large unit that refer to each other in a cycle are sent together`() {
        var assembly = Self.assembly()
        let text = Self.large(3)
        let hasRoom = assembly.add([
            Self.step(1, text, parent: 2), Self.step(2, text, parent: 3), Self.step(3, text, parent: 2),
        ])
        #expect(hasRoom)
        #expect(assembly.rows.map(\.id) == [2, 3, 1].map(Self.id))
        #expect(assembly.groups == [0..<2])
    }

    @Test func `a large unit fills the push up to its limits, and a large row is sent alone`() {
        var assembly = Self.assembly(rows: 2)
        let hasRoom = assembly.add((1...3).map { Self.step($0, Self.large(3)) })
        #expect(!hasRoom)
        #expect(assembly.rows.map(\.id) == [1, 2].map(Self.id))
        var single = Self.assembly(bytes: 10)
        let finds = single.add([Self.step(1, Self.large(1))])
        #expect(finds)
        #expect(single.rows.count == 1)
    }

    @Test func `S2 the deletions of a large unit wait for its living rows`() {
        var assembly = Self.assembly()
        let isDone = assembly.add([Self.step(1, edit: Self.deleted), Self.step(2, Self.large(1))])
        #expect(!isDone)
        #expect(assembly.rows.map(\.id) == [Self.id(2)])
    }

    @Test func `S2 a large unit of deletions is sent children first`() {
        let column = TableLayout.Column(name: Self.large(2), bit: 1, form: .string, isNullable: true)
        let layout = TableLayout(number: 1, name: "step", idForm: .text, columns: [column])
        var assembly = Self.assembly()
        let isDone = assembly.add(
            (1...3).map { Unsent(entry: Self.step($0, edit: Self.deleted).entry, values: [:], layout: layout) })
        #expect(isDone)
        #expect(assembly.rows.map(\.id) == [3, 2, 1].map(Self.id), "large units of deletions are sent children first")
        #expect(assembly.groups.isEmpty)
    }

    // MARK: - Random units

    @Test(arguments: 1...100)
    func `S2 a push of random units keeps its limits, and its units are complete and in order`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = PushLimit(
            rows: Int.random(in: 1...12, using: &random), bytes: Int.random(in: 200...4_000, using: &random))
        var assembly = PushAssembly(device: Self.device, limit: limit)
        var (expected, groups): ([Int], [Range<Int>]) = ([], [])
        var (bytes, next) = (0, 0)
        for _ in 0..<20 {
            let unit = (0..<Int.random(in: 1...5, using: &random)).map { _ -> (id: Int, length: Int) in
                next += 1
                return (next, Int.random(in: 0...400, using: &random))
            }
            // A new row has 120 bytes and, for each column, its name and its value.
            let size = unit.reduce(0) { $0 + 120 + ("text".count + $1.length + 4) + ("parent".count + 12) }
            let fits = expected.count + unit.count <= limit.rows && bytes + size <= limit.bytes
            let hasRoom = assembly.add(unit.map { Self.step($0.id, String(repeating: "x", count: $0.length)) })
            #expect(hasRoom == (fits || expected.isEmpty))
            guard hasRoom else { continue }
            if unit.count > 1 { groups.append(expected.count..<expected.count + unit.count) }
            expected += unit.map(\.id)
            bytes += size
        }
        #expect(assembly.rows.map(\.id) == expected.map(Self.id))
        #expect(assembly.sent.map(\.ref.id) == expected.map { Self.id($0).databaseValue })
        #expect(assembly.groups == groups)
    }

    @Test(arguments: 1...60)
    func `S2 each row of a large unit follows the row it refers to or shares its group`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let count = Int.random(in: 2...12, using: &random)
        let parents = (0..<count).map { _ in
            Bool.random(using: &random) ? Int.random(in: 0..<count + 2, using: &random) : nil
        }
        var assembly = Self.assembly()
        let text = Self.large(count)
        let hasRoom = assembly.add(
            (0..<count).shuffled(using: &random).map { Self.step($0, text, parent: parents[$0]) })
        #expect(hasRoom)
        #expect(Set(assembly.rows.map(\.id)) == Set((0..<count).map(Self.id)))
        #expect(assembly.rows.count == count, "each row is sent once")
        for (child, parent) in parents.enumerated() {
            guard let parent, parent < count else { continue }
            let (own, its) = (
                try #require(assembly.rows.firstIndex { $0.id == Self.id(child) }),
                try #require(assembly.rows.firstIndex { $0.id == Self.id(parent) })
            )
            #expect(its <= own || assembly.groups.contains { $0.contains(own) && $0.contains(its) })
        }
    }
}
