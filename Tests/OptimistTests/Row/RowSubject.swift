// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

@testable import Optimist
@testable import OptimistWire

/// One row of a device without a file: its entry, its values in the app's table, and the push in flight.
///
/// The user's writes change the entry as the triggers do. Stamps are in seconds.
struct RowSubject {
    static let device = "Me"

    let layout: TableLayout
    let hasClocks: Bool
    private(set) var entry: RowEntry
    /// The row in the app's table, or nil.
    private(set) var shown: JSONObject?
    private(set) var sent: SentRow?
    /// Other results of the last event, such as values that the user lost.
    private(set) var notes: [String] = []
    /// A received row that waits for the answer to an unsent life.
    private var waiting: RowPatch?
    /// The texts that the user lost in the last event, kept by the journal or a rejection.
    private(set) var keptTexts: Set<String> = []

    init(editWins: Bool, hasClocks: Bool) {
        self.hasClocks = hasClocks
        layout = TableLayout(
            number: 1, name: "note", idForm: .bytes,
            columns: [
                .init(name: "title", bit: 1, form: .string, isNullable: true),
                .init(name: "body", bit: 2, form: .string, isNullable: true),
                .init(name: "likes", bit: 3, form: .counter, isNullable: false),
            ], rules: SyncRules(counters: ["likes"], editWins: editWins))
        entry = RowEntry(ref: RowRef(table: 1, id: Self.id))
    }

    static let id = Data(count: 16).databaseValue

    init(_ entry: RowEntry?, shown: JSONObject?, in layout: TableLayout, hasClocks: Bool) {
        self.layout = layout
        self.hasClocks = hasClocks
        self.entry = entry ?? RowEntry(ref: RowRef(table: layout.number, id: Self.id))
        self.shown = shown
    }

    static func clock(_ at: Int64, _ device: String = "Other") -> WriteClock {
        WriteClock(stamp: Stamp(milliseconds: at * 1000), device: device)
    }

    // MARK: - Writes of the user

    mutating func insert(_ values: JSONObject, at second: Int64) {
        let stamp = Self.clock(second).stamp
        if entry.local == nil {
            entry.generation = entry.remote.generation + 1 + entry.remote.generation % 2
            entry.local = LocalEdit(group: stamp, stamp: stamp, dirty: layout.fullMask)
        } else {
            entry.generation += 1 + entry.generation % 2
            reset(to: layout.fullMask, at: stamp)
        }
        entry.counters = [:]
        shown = values
    }

    mutating func update(_ values: JSONObject, at second: Int64) {
        guard let former = shown else { return }
        let stamp = Self.clock(second).stamp
        let mask = layout.mask(of: JSONObject(values.members.filter { former[$0.key] != $0.value }))
        if mask == 0 { return }
        let keepsBase = entry.isKnownToServer || entry.isRestored
        let edit = entry.local ?? LocalEdit(group: stamp, stamp: stamp)
        var (base, clocks) = (edit.base, edit.clocks)
        for column in layout.columns(in: mask) where keepsBase {
            if edit.dirty & column.mask == 0 || clocks[column.name]?.original != nil {
                base[column.name] = Self.literal(former[column.name] ?? .null)
            }
        }
        let isAll = edit.dirty & ~mask == 0
        for column in layout.columns(in: mask) { clocks[column.name] = .own(stamp) }
        entry.local = LocalEdit(
            group: edit.group, stamp: isAll ? stamp : edit.stamp, clocks: isAll ? [:] : clocks,
            lostLife: isAll ? nil : edit.lostLife, dirty: edit.dirty | mask, sent: edit.sent, unread: edit.unread,
            base: base)
        for (name, value) in values.members { shown?[name] = value }
    }

    mutating func count(_ amount: Int64, at second: Int64) {
        guard let former = shown?["likes"]?.int else { return }
        update(["likes": .int(former + amount)], at: second)
        var counter = entry.counters[3] ?? Counter()
        var total = counter.totals[Self.device] ?? Counter.Total(value: 0, stamp: .zero)
        total.value += amount
        total.stamp = Self.clock(second).stamp
        counter.totals[Self.device] = total
        entry.counters[3] = counter
    }

    mutating func delete(at second: Int64) {
        let stamp = Self.clock(second).stamp
        let ended = entry.remote.generation + entry.remote.generation % 2
        let life = entry.sent == 0 ? 0 : entry.generation + entry.generation % 2
        if entry.remote.isAlive || entry.sent != 0 || ended > entry.generation {
            if entry.hasOutlivedItsEnd { entry.remote.end(entry.remote.generation, at: nil) }
            entry.generation = max(life, ended)
            reset(to: TableLayout.lifeMask, at: stamp)
        } else {
            entry.generation = entry.remote.generation
            entry.local = nil
        }
        entry.counters = [:]
        shown = nil
        forgetIfEmpty()
    }

    /// If neither the device nor the server ever had the row, its entry is reset.
    private mutating func forgetIfEmpty() {
        if entry.generation == 0 { entry = RowEntry(ref: entry.ref) }
    }

    private mutating func reset(to mask: Int64, at stamp: Stamp) {
        entry.local = LocalEdit(
            group: entry.local?.group ?? stamp, stamp: stamp, dirty: mask, sent: entry.sent,
            unread: entry.local?.unread ?? 0)
    }

    // MARK: - Actions of the engine

    mutating func send() {
        var assembly = PushAssembly(device: Self.device, limit: PushLimit())
        _ = assembly.add([PushAssembly.Unsent(entry: entry, values: shown ?? [:], layout: layout)])
        sent = assembly.sent.first
        entry.local?.send()
    }

    mutating func receive(_ patch: RowPatch) {
        waiting = nil
        let rendering = render { entry, layout in entry.receive(patch, device: Self.device, in: layout) }
        if rendering.placement != .shown { waiting = patch }
    }

    mutating func receive(_ tombstone: Tombstone) {
        waiting = nil
        render { entry, layout in entry.receive(tombstone, device: Self.device, in: layout) }
    }

    /// Receives a row that does not fit the app's table.
    mutating func receiveMisfit(_ patch: RowPatch) {
        let (before, row) = (entry, shown)
        receive(patch)
        guard let row, let came = shown, row != came else { return }
        shown = row
        _ = entry.withdraw(came, isWhole: entry.generation != before.generation, in: layout)
        notes.append("parked")
    }

    mutating func answer(_ verdict: RemotePush.Verdict) {
        guard let sent else { return }
        (self.sent, notes, keptTexts) = (nil, [], [])
        outcome { entry, layout in
            entry.settle(sent, verdict, push: 1, device: Self.device, in: layout)
        }
        guard let waiting else { return }
        let (answered, kept) = (notes, keptTexts)
        receive(waiting)
        (notes, keptTexts) = (answered + notes, kept.union(keptTexts))
    }

    /// The push was certainly not sent.
    mutating func recall() {
        guard let sent else { return }
        (self.sent, notes, keptTexts) = (nil, [], [])
        if !entry.isPending { return }
        entry.local?.takeBack(sent)
        entry.endUnsentLife()
    }

    /// The server lost the row.
    mutating func lose() { entry.restore(in: layout) }

    /// A snapshot did not contain the row.
    mutating func miss(isResync: Bool) {
        if entry.isPending {
            entry.goOnMissing(isResync: isResync, in: layout)
        } else {
            var tombstone = Tombstone(generation: entry.generation + 1, clock: nil)
            if !isResync { tombstone.unread = entry.remote.written(in: layout).of(devices: [Self.device]) }
            receive(tombstone)
        }
    }

    /// The app keeps a row that a resync did not contain.
    mutating func keep() { entry.beginAnew(in: layout) }

    /// The user discards the unsent edit.
    mutating func discard(_ current: RowPatch?) {
        let values = shown ?? [:]
        outcome { entry, layout in
            guard let taken = entry.takeBack(values, current: current, in: layout) else {
                return (Rendering(), Outcome(isUndecided: true))
            }
            return (taken.rendering, Outcome(rejected: taken.mine))
        }
    }

    private mutating func outcome(_ event: (inout RowEntry, TableLayout) -> (rendering: Rendering, outcome: Outcome)) {
        var outcome = Outcome()
        render { entry, layout in
            let both = event(&entry, layout)
            outcome = both.outcome
            return both.rendering
        }
        keptTexts.formUnion(Self.texts(outcome.overwritten) + Self.texts(outcome.rejected ?? [:]))
        if let rejected = outcome.rejected { notes.append("rejected \(JSON.object(rejected))") }
        if !outcome.overwritten.isEmpty { notes.append("overwritten \(JSON.object(outcome.overwritten))") }
        if outcome.isUndecided { notes.append("undecided") }
    }

    @discardableResult
    private mutating func render(_ event: (inout RowEntry, TableLayout) -> Rendering) -> Rendering {
        let rendering = event(&entry, layout)
        notes = []
        if case .waiting(let reason) = rendering.placement { notes.append("waits \(reason.kind)") }
        note(rendering.endsLife ? "lost" : "replaced", rendering.lost)
        keptTexts = Set(Self.texts(lost(by: rendering)))
        switch rendering.change {
        case .none: break
        case .put(let values):
            var row = values
            for column in layout.columns where rendering.kept & column.mask != 0 {
                row[column.name] = shown?[column.name]
            }
            shown = row
        case .set(let values):
            for (name, value) in values.members { shown?[name] = value }
        case .delete: shown = nil
        }
        forgetIfEmpty()
        return rendering
    }

    private mutating func note(_ what: String, _ mask: Int64) {
        let values = layout.columns(in: mask).map { "\($0.name) \(shown?[$0.name] ?? .null)" }
        if !values.isEmpty { notes.append("\(what) \(values.joined(separator: ", "))") }
    }

    /// The values that the user loses and that the row no longer has afterwards.
    private func lost(by rendering: Rendering) -> JSONObject {
        let next: JSONObject? =
            switch rendering.change {
            case .put(let values), .set(let values): values
            case .none, .delete: nil
            }
        let columns = layout.columns(in: rendering.lost).filter { column in
            next.map { $0[column.name] != shown?[column.name] } ?? true
        }
        return JSONObject(columns.map { ($0.name, shown?[$0.name] ?? .null) })
    }

    private static func texts(_ values: JSONObject) -> [String] {
        values.members.compactMap { name, value in value.string.map { "\(name) \($0)" } }
    }

    private static func literal(_ value: JSON) -> String {
        value.int.map(String.init) ?? value.string.map { "'\($0)'" } ?? "NULL"
    }
}

extension LocalEdit {
    /// Marks all unsent columns as sent.
    mutating func send() {
        self = LocalEdit(
            group: group, place: place, stamp: stamp, clocks: clocks, lostLife: lostLife, dirty: dirty,
            sent: sent | dirty, unread: unread, base: base)
    }
}
