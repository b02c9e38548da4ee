// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import Optimist

/// The effect of a deletion on every kind of row below it. Each line of the tables is one case.
struct RowBelowTests {
    enum Step: String, CaseIterable, Sendable {
        /// Same as on the server.
        case clean
        /// The user edited another column.
        case edited
        /// The user moved it here; unsent.
        case moved
        /// The user moved it here; sent, unanswered.
        case movedAndSent
        /// The user created it; unsent.
        case new
        /// The user created it; sent, unanswered.
        case newAndSent
        /// The server had it and lost it.
        case lost
        /// The server deleted it, but the later move keeps it alive.
        case outlived
    }

    private static let layout = TableLayout(
        number: 1, name: "step", idForm: .bytes,
        columns: [
            .init(name: "text", bit: 1, form: .string, isNullable: false),
            .init(
                name: "project", bit: 2, form: .string, isNullable: true,
                reference: Reference(table: "project", onDelete: .cascade)),
        ], rules: SyncRules())

    private static func below(_ step: Step, _ action: Reference.Action) -> RowBelow {
        let (text, project) = (layout.columns[0], layout.columns[1])
        var entry = RowEntry(ref: RowRef(table: 1, id: UUID().databaseValue), generation: 1)
        // The server last wrote the step in transaction 5.
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_000), device: "Other")
        entry.remote = RemoteRow(generation: 1, seq: 5, clocks: ColumnClocks(common: clock))
        let stamp = Stamp(milliseconds: 9_000)
        func edit(_ dirty: Int64, sent: Int64 = 0) {
            entry.local = LocalEdit(group: stamp, stamp: stamp, dirty: dirty, sent: sent)
        }
        switch step {
        case .clean: break
        case .edited: edit(text.mask)
        case .moved: edit(project.mask)
        case .movedAndSent: edit(project.mask, sent: project.mask)
        case .new, .newAndSent:
            entry.remote = RemoteRow()
            edit(layout.fullMask, sent: step == .new ? 0 : layout.fullMask)
        case .lost: entry.restore(in: layout)
        case .outlived:
            entry.remote.hear(life: 2)
            edit(project.mask)
        }
        return RowBelow(entry: entry, layout: layout, column: project, onDelete: action)
    }

    @Test(arguments: [
        (Step.clean, "goes", "refersToNothing"), (.edited, "goes", "refersToNothing"),
        (.moved, "returns", "refersToNothing"), (.movedAndSent, "returns", "refersToNothing"),
        (.new, "goes", "refersToNothing"), (.newAndSent, "goes", "refersToNothing"), (.lost, "goes", "refersToNothing"),
        (.outlived, "ends", "refersToNothing"),
    ])
    func `R2 the fate of a row below a deletion follows from its reference and its edits`(
        step: Step, cascade: String, setNull: String
    ) {
        #expect("\(Self.below(step, .cascade).fate)" == cascade)
        #expect("\(Self.below(step, .setNull).fate)" == setNull)
        #expect(Self.below(step, .restrict).fate == .stays)
    }

    /// `waits` lists whether a cascading deletion waits in each of four cases: everything is received, the row may
    /// still move, the deletion is earlier than the row below, and a push is unanswered.
    @Test(arguments: [
        (Step.clean, [false, true, true, false]), (.edited, [false, true, true, false]),
        (.moved, [false, false, false, false]), (.movedAndSent, [false, false, false, true]),
        (.new, [false, false, false, false]), (.newAndSent, [false, false, false, true]),
        // Rows that the server lost are searched for at any depth: see DeletionTiming.
        (.lost, [false, false, false, true]), (.outlived, [false, false, false, false]),
    ])
    func `R2 a deletion waits while a row below may move, is later, or awaits an answer`(step: Step, waits: [Bool]) {
        func isHeldBack(
            _ action: Reference.Action, at seq: Int64? = 8, isPushUnanswered: Bool = false, mayMove: Bool = false
        ) -> Bool {
            Self.below(step, action).holdsBack(
                deletionAt: seq, isPushUnanswered: isPushUnanswered, mayMove: mayMove)
        }
        for seq in [8, nil] as [Int64?] {
            #expect(
                [
                    isHeldBack(.cascade, at: seq), isHeldBack(.cascade, at: seq, mayMove: true),
                    isHeldBack(.cascade, at: 4),
                    isHeldBack(.cascade, at: seq, isPushUnanswered: true),
                ] == waits)
        }
        // A row whose reference is cleared gets its place from a later page, so only an unanswered push or a later
        // write matters.
        #expect(
            [
                isHeldBack(.setNull), isHeldBack(.setNull, mayMove: true), isHeldBack(.setNull, at: 4),
                isHeldBack(.setNull, isPushUnanswered: true),
            ] == [waits[0], false, waits[2], waits[3]])
    }

    @Test func `R4 the search below a missing row stops at rows that are already in the table`() {
        func row(_ number: Int64) -> RowRef { RowRef(table: 1, id: number.databaseValue) }
        var orphans = Orphans()
        // Row 9 is missing. Rows 1, 2 and 3 are a chain below it, and 4 is below 2. Rows 5 and 6 are a separate cycle.
        for (child, parents) in [(1, [9]), (2, [1]), (3, [2]), (4, [2]), (5, [6]), (6, [5])] as [(Int64, [Int64])] {
            orphans.add(row(child), below: parents.map(row))
        }
        orphans.find { $0 != row(9) }
        #expect(orphans.missing == [row(1): row(9)])
        var others = orphans
        orphans.addRowsBelow { _ in false }
        #expect(orphans.missing == [row(1): row(9), row(2): row(1), row(3): row(2), row(4): row(2)])
        others.addRowsBelow { $0 == row(2) }
        #expect(others.missing == [row(1): row(9), row(2): row(1)], "row 2 is in the table, as before the round")
    }
}
