// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import Optimist

/// Checks every combination of server's word, edit and event in a small world against the law of a row in
/// Documentation/Promises.md.
///
/// A model states the law in a few lines: the server's later word wins, an answer ends exactly what was sent, and the
/// table shows the edit above the word. The entry must agree with the model, and the document must list the model's
/// outcomes.
@Suite(.timeLimit(.minutes(20)))
struct RowLawTests {
    // MARK: - The world

    /// A value and the time of its write, in seconds.
    private struct Cell: Equatable, CustomStringConvertible {
        var value: String
        var at: Int64
        var description: String { "\(value)@\(at)" }
    }

    /// The server's row: its life and its value, nil if it is deleted.
    private struct Word: Equatable, CustomStringConvertible {
        var life = 0
        var cell: Cell?
        var end: Int64 = 0
        var description: String {
            if life == 0 { return "nothing" }
            let name = cell.map(\.description) ?? "deleted@\(end)"
            return life > 2 ? "\(name), life \(life)" : name
        }
    }

    private enum Edit: CustomStringConvertible, CaseIterable {
        case none, create, edit, delete, lost
        var description: String {
            switch self {
            case .none: "nothing"
            case .create: "create M@20"
            case .edit: "edit M@20"
            case .delete: "delete@20"
            case .lost: "lost A@10"
            }
        }
    }

    private enum Event: CaseIterable, CustomStringConvertible {
        case olderPage, samePage, laterPage, latestPage, laterLife, tombstone
        case accepted, merged, gone, refused, refusedWithRow, refusedWithLife

        var isAnswer: Bool {
            [.accepted, .merged, .gone, .refused, .refusedWithRow, .refusedWithLife].contains(self)
        }

        /// The row that the event reports. Nil for an acceptance, which confirms what was sent, and for a refusal
        /// without a row.
        var word: Word? {
            switch self {
            case .olderPage: Word(life: 1, cell: Cell(value: "O", at: 5))
            case .samePage: Word(life: 1, cell: Cell(value: "A", at: 10))
            case .laterPage, .refusedWithRow: Word(life: 1, cell: Cell(value: "B", at: 15))
            case .latestPage, .merged: Word(life: 1, cell: Cell(value: "C", at: 40))
            case .laterLife, .refusedWithLife: Word(life: 3, cell: Cell(value: "D", at: 50))
            case .tombstone, .gone: Word(life: 2, end: 30)
            case .accepted, .refused: nil
            }
        }

        var description: String {
            switch self {
            case .merged: "answer: \(Word(life: 1, cell: Cell(value: "C", at: 40))) won"
            case .gone: "answer: gone"
            case .accepted: "answer: accepted"
            case .refused: "answer: refused"
            case .refusedWithRow, .refusedWithLife: "answer: refused, the row is \(word.map(\.description) ?? "")"
            default: "page: \(word.map(\.description) ?? "")"
            }
        }
    }

    private static let words = [Word(), Word(life: 1, cell: Cell(value: "A", at: 10)), Word(life: 2, end: 30)]

    /// Whether the edit is possible above the word.
    private static func stands(_ edit: Edit, above word: Word) -> Bool {
        switch edit {
        case .none: true
        case .create: word.cell == nil
        case .edit, .delete, .lost: word.cell != nil
        }
    }

    /// Whether a server that follows the protocol can send the event.
    private static func isPossible(_ event: Event, of edit: Edit, above word: Word) -> Bool {
        switch event {
        case .accepted, .refused: edit != .none
        case .merged: edit == .edit || edit == .lost || (edit == .create && word.life == 0)
        case .gone: edit != .none && word.life != 2
        case .refusedWithLife: edit != .none
        case .refusedWithRow: edit != .none && word.life != 2
        default: true
        }
    }

    // MARK: - The law

    private struct Outcome: Equatable {
        var word: Word
        var isUnsent: Bool
        /// The value in the table, or nil without a row.
        var shown: String?
        /// Whether the row must be received again because the answer did not include it.
        var isAwaited = false
    }

    private static func lawful(_ event: Event, _ edit: Edit, above former: Word) -> Outcome {
        var word = former
        let life = life(of: edit, above: former)
        // The server no longer has a row that it lost.
        if edit == .lost { word = Word() }
        if let told = event.word, isLater(told, than: word) || hasForgotten(event, word, edit) { word = told }
        if event == .accepted { word = edit == .delete ? Word(life: life, end: 20) : accepted(edit, in: life) }
        let isOver = word.life > life
        let isBack = edit == .lost && word.life == 1 && (word.cell?.at ?? 0) >= 10
        let isUnsent = edit != .none && !event.isAnswer && !isOver && !isBack
        if !isUnsent {
            let isAwaited = event == .refused && edit == .delete
            // A refused row is removed or reverts to the server's version.
            if event == .refused, edit == .lost { word = Word() }
            return Outcome(word: word, isUnsent: false, shown: isAwaited ? nil : word.cell?.value, isAwaited: isAwaited)
        }
        let mine: String? = edit == .delete ? nil : edit == .lost ? "A" : "M"
        return Outcome(word: word, isUnsent: true, shown: mine)
    }

    private static func life(of edit: Edit, above word: Word) -> Int {
        switch edit {
        case .none: word.life
        case .create: word.life + 1
        case .delete: word.life + 1
        case .edit, .lost: word.life
        }
    }

    private static func accepted(_ edit: Edit, in life: Int) -> Word {
        Word(life: life, cell: edit == .lost ? Cell(value: "A", at: 10) : Cell(value: "M", at: 20))
    }

    /// The higher life wins; within one life, the later value wins (M1, M2).
    private static func isLater(_ word: Word, than other: Word) -> Bool {
        word.life > other.life || (word.life == other.life && (word.cell?.at ?? 0) > (other.cell?.at ?? 0))
    }

    /// Whether a later transaction reports an earlier life: the server has forgotten the deletion, and another device
    /// has started over (L4). An edit above the word is answered first.
    private static func hasForgotten(_ event: Event, _ word: Word, _ edit: Edit) -> Bool {
        edit == .none && seq(event) > 5 && (event.word?.life ?? word.life) < word.life
    }

    // MARK: - The entry

    private static let layout = TableLayout(
        number: 1, name: "note", idForm: .bytes,
        columns: [.init(name: "title", bit: 1, form: .string, isNullable: false)], rules: SyncRules())
    private static let title: Int64 = 0b10
    private static let ref = RowRef(table: 1, id: UUID().databaseValue)

    private static func clock(_ at: Int64, _ device: String = "Other") -> WriteClock {
        WriteClock(stamp: Stamp(milliseconds: at * 1000), device: device)
    }

    private static func patch(_ word: Word, seq: Int64?) -> RowPatch {
        guard let cell = word.cell else { return RowPatch() }
        return RowPatch(
            generation: word.life, clocks: ColumnClocks(common: clock(cell.at)), seq: seq,
            values: ["title": .string(cell.value)])
    }

    /// An entry in a state of the world, with its edit sent.
    private static func entry(_ edit: Edit, above word: Word) -> (RowEntry, sent: SentRow?) {
        var entry = RowEntry(ref: ref, generation: word.life)
        entry.remote.hear(life: word.life)
        if word.life > 0 { entry.remote.hear(seq: 5) }
        if word.cell != nil { entry.remote.hear(patch(word, seq: 5), in: layout) }
        if word.life == 2 { entry.remote.end(2, at: clock(word.end)) }
        let stamp = clock(20).stamp
        switch edit {
        case .none: return (entry, nil)
        case .create:
            entry.generation += 1
            entry.local = LocalEdit(group: stamp, stamp: stamp, dirty: TableLayout.lifeMask | title)
        case .edit: entry.local = LocalEdit(group: stamp, stamp: stamp, dirty: title, base: ["title": "'A'"])
        case .delete:
            entry.generation += 1
            entry.local = LocalEdit(group: stamp, stamp: stamp, dirty: TableLayout.lifeMask)
        case .lost: entry.restore(in: layout)
        }
        var assembly = PushAssembly(device: "Me", limit: PushLimit())
        let values: JSONObject = ["title": edit == .lost ? "A" : "M"]
        _ = assembly.add([PushAssembly.Unsent(entry: entry, values: entry.isAlive ? values : [:], layout: layout)])
        entry.local?.send()
        return (entry, assembly.sent.first)
    }

    private static func actual(_ event: Event, _ edit: Edit, above former: Word) throws -> (Outcome, RowEntry) {
        var (entry, sent) = entry(edit, above: former)
        var shown = edit == .none || edit == .lost ? former.cell?.value : edit == .delete ? nil : "M"
        var kept: Int64 = 0
        let change: RowChange
        if event.isAnswer {
            let rendering = entry.settle(
                try #require(sent), verdict(event), push: 1, device: "Me", in: layout
            ).rendering
            (change, kept) = (rendering.change, rendering.kept)
        } else {
            let word = try #require(event.word)
            let reception =
                word.cell == nil
                ? entry.receive(
                    Tombstone(generation: word.life, clock: clock(word.end), seq: 7), device: "Me", in: layout)
                : entry.receive(patch(word, seq: seq(event)), device: "Me", in: layout)
            (change, kept) = (reception.change, reception.kept)
        }
        switch change {
        case .none: break
        case .put(let values), .set(let values):
            if kept & title == 0 { shown = values["title"]?.string ?? shown }
        case .delete: shown = nil
        }
        let alive = entry.remote.generation % 2 == 1 ? entry.remote.clock(of: layout.columns[0]) : nil
        let word = Word(
            life: entry.remote.generation,
            cell: alive.map { clock in Cell(value: name(of: clock, entry, shown), at: clock.stamp.milliseconds / 1000)
            },
            end: entry.remote.generation == 0 || entry.remote.isAlive
                ? 0 : (entry.remote.clocks.common?.stamp.milliseconds ?? 0) / 1000)
        let isAwaited = !entry.isPending && entry.remote.isAlive && shown == nil
        return (Outcome(word: word, isUnsent: entry.isPending, shown: shown, isAwaited: isAwaited), entry)
    }

    /// The server's value: the one in the table, or the base of the edit above it.
    private static func name(of clock: WriteClock, _ entry: RowEntry, _ shown: String?) -> String {
        if entry.dirty & title != 0, let base = entry.baseValue(of: layout.columns[0])?.string { return base }
        return entry.dirty == 0 ? shown ?? "?" : "?"
    }

    private static func seq(_ event: Event) -> Int64 {
        switch event {
        case .olderPage: 4
        case .samePage: 5
        case .laterPage, .refusedWithRow: 6
        default: 7
        }
    }

    private static func verdict(_ event: Event) -> RemotePush.Verdict {
        switch event {
        case .merged:
            return .merged(seq: 9, patch(Word(life: 1, cell: Cell(value: "C", at: 40)), seq: nil))
        case .gone: return .gone(seq: 9, Tombstone(generation: 2, clock: clock(30)))
        case .refused: return .rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        case .refusedWithRow, .refusedWithLife:
            let current = event.word.map { patch($0, seq: seq(event)) }
            return .rejected(RemotePush.Refusal(code: "forbidden", message: "No.", current: current))
        default: return .accepted(seq: 9)
        }
    }

    // MARK: - The table

    private static var cases: [(word: Word, edit: Edit, event: Event)] {
        words.flatMap { word in
            Edit.allCases.filter { stands($0, above: word) }.flatMap { edit in
                Event.allCases.filter { isPossible($0, of: edit, above: word) }.map { (word, edit, $0) }
            }
        }
    }

    @Test func `M1 M2 S4 the table shows the edit above the server's word after every event`() throws {
        for (word, edit, event) in Self.cases {
            let (outcome, entry) = try Self.actual(event, edit, above: word)
            let name = "\(word) | \(edit) | \(event)"
            let lawful = Self.lawful(event, edit, above: word)
            #expect(outcome.shown == lawful.shown, "\(name)")
            #expect(outcome.isUnsent == lawful.isUnsent, "\(name)")
            #expect(outcome.isAwaited == lawful.isAwaited, "\(name)")
            #expect(entry.isPending || entry.generation == entry.remote.generation, "\(name)")
            if !lawful.isAwaited, !lawful.isUnsent { #expect(outcome.word == lawful.word, "\(name)") }
        }
    }

    private static var lines: [String] {
        cases.map { word, edit, event in
            let outcome = lawful(event, edit, above: word)
            let shown = outcome.isAwaited ? "nothing, until the row is received again" : outcome.shown ?? "nothing"
            let unsent = outcome.isUnsent ? edit.description : "nothing"
            return "| \(word) | \(edit) | \(event) | \(outcome.word) | \(unsent) | \(shown) |\n"
        }
    }

    /// `OPTIMIST_WRITE_LAW=1` writes the document.
    @Test func `the document of the law lists the outcome of every event`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../Fixtures/RowLaw.md")
        let document = try String(contentsOf: file, encoding: .utf8)
        var (lawful, rest) = ("", document[...])
        for lines in [Self.lines, MoveCase.all.map(\.line)] {
            let head = try #require(rest.range(of: "|---|---|---|---|---|---|\n")).upperBound
            lawful += rest[..<head] + lines.joined()
            rest = rest[(rest[head...].range(of: "\n\n")?.lowerBound ?? rest.endIndex)...].dropFirst()
        }
        lawful += rest
        if ProcessInfo.processInfo.environment["OPTIMIST_WRITE_LAW"] != nil {
            try lawful.write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(document == lawful)
        }
    }
}
