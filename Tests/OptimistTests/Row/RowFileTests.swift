// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import Optimist

/// The states of RowCasesTests in a database file: triggers, pages and answers must treat its row as RowSubject does.
@Suite(.timeLimit(.minutes(20)))
struct RowFileTests {
    @Test(arguments: [(false, true), (true, true), (false, false)])
    func `W3 S1 S4 R1 M1 M7 a row in a file follows the law of a row`(editWins: Bool, hasClocks: Bool)
        async throws
    {
        let file = try await RowFile(editWins: editWins, hasClocks: hasClocks)
        for state in RowCasesTests.states(above: [[], [.first], [.first, .end], [.own]]) {
            guard let subject = try await file.come(to: state) else { continue }
            let found = try await file.subject().state
            #expect(found == subject.state, "\(RowCasesTests.name(state))")
            for event in RowFile.events where event.isPossible(for: subject) {
                var lawful = subject
                event.happen(to: &lawful)
                let (found, kept) = try await file.outcome(of: event, for: subject)
                #expect(found.state == lawful.state, "\(RowCasesTests.name(state)): \(event)")
                #expect(kept == lawful.keptTexts, "\(RowCasesTests.name(state)): \(event)")
            }
        }
    }

    @Test(arguments: [(false, true), (true, true), (false, false)])
    func `W3 W4 S1 the triggers record every sequence of edits as the law of a row requires`(
        editWins: Bool, hasClocks: Bool
    ) async throws {
        let file = try await RowFile(editWins: editWins, hasClocks: hasClocks)
        let edits = RowCasesTests.edits.flatMap { edit in RowCasesTests.meanwhile.map { edit + $0 } }
        let states = [[], [.first], [.first, .end], [.own]].flatMap { word in edits.map { word + $0 } }
        for state in states + RowCasesTests.stories {
            guard let subject = try await file.come(to: state) else { continue }
            let found = try await file.subject().state
            #expect(found == subject.state, "\(RowCasesTests.name(state))")
        }
    }
}

/// A device with one row, which is put into one state after another.
private final class RowFile: Sendable {
    /// `lose` is left out, because a server that loses the row also loses other rows: see RewindTests.
    static let events = (RowStep.pages + RowStep.answers + RowStep.others).filter {
        ![.lose, .recalled, .misfit].contains($0)
    }

    private let device: Device
    private let hasClocks: Bool
    private var store: Store { device.store }
    private var layout: TableLayout { store.layouts[0] }
    private var ref: RowRef { RowRef(table: layout.number, id: RowSubject.id) }
    private let batch = Mutexed<PushBatch?>(nil)

    private struct Card: Codable, SyncedRecord {
        static let databaseTableName = "card"
        static let syncRules = SyncRules(counters: ["likes"])
        var id = UUID()
    }

    private struct LastingCard: Codable, SyncedRecord {
        static let databaseTableName = "card"
        static let syncRules = SyncRules(counters: ["likes"], editWins: true)
        var id = UUID()
    }

    init(editWins: Bool, hasClocks: Bool) async throws {
        self.hasClocks = hasClocks
        let synced: [any SyncedRecord.Type] = [editWins ? LastingCard.self : Card.self]
        func migrate(_ migrator: inout DatabaseMigrator) {
            migrator.registerMigration("card") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE card(
                            id BLOB PRIMARY KEY NOT NULL, title TEXT, body TEXT, likes INTEGER NOT NULL DEFAULT 0);
                        """)
            }
        }
        device = try Device(synced, at: 0, migrate: migrate)
        try await store.apply { db in
            try db.execute(sql: "UPDATE optimist_node SET device = ? WHERE own", arguments: [RowSubject.device])
        }
        try device.open(synced, migrate: migrate)
        store.countUnderOwnID()
    }

    /// Returns nil if the steps cannot happen.
    func come(to steps: [RowStep]) async throws -> RowSubject? {
        try await forget()
        var subject = RowSubject(nil, shown: nil, in: layout, hasClocks: hasClocks)
        for step in steps {
            guard step.isPossible(for: subject) else { return nil }
            try await happen(step, to: subject)
            step.happen(to: &subject)
        }
        return subject
    }

    func subject() async throws -> RowSubject { try await store.read(subject) }

    private func subject(_ db: Database) throws -> RowSubject {
        let shown = try AppTable(layout: layout, db: db).values(ref.id)
        return RowSubject(try RowEntryTable(db).entry(ref), shown: shown, in: layout, hasClocks: hasClocks)
    }

    /// Applies the event and rolls it back. Returns the row after the event, and the texts that the journal or a
    /// rejection kept.
    func outcome(of event: RowStep, for subject: RowSubject) async throws -> (RowSubject, kept: Set<String>) {
        try await store.apply { db in
            var outcome: (RowSubject, kept: Set<String>)?
            try db.inSavepoint {
                try db.execute(sql: "DELETE FROM optimist_journal; DELETE FROM optimist_rejection")
                try self.happen(event, to: subject, db)
                outcome = (try self.subject(db), try self.keptTexts(db))
                return .rollback
            }
            return try #require(outcome)
        }
    }

    private func keptTexts(_ db: Database) throws -> Set<String> {
        let kept = try String.fetchAll(
            db, sql: "SELECT mine FROM optimist_journal UNION ALL SELECT mine FROM optimist_rejection")
        return try Set(
            kept.flatMap { text in
                try JSON(parsing: text.utf8).object?.members
                    .compactMap { name, value in value.string.map { "\(name) \($0)" } } ?? []
            })
    }

    private func happen(_ step: RowStep, to subject: RowSubject) async throws {
        if let (sql, second) = step.write {
            // The clock may be ahead from an earlier state.
            store.capture.restart(at: Stamp(rawValue: Stamp(milliseconds: second * 1000).rawValue - 1))
            try await device.execute(sql, [ref.id])
        } else if step == .send {
            batch.value = try await device.next()
        } else if step == .recalled {
            try await store.recall(try #require(batch.value))
        } else {
            try await store.apply { try self.happen(step, to: subject, $0) }
        }
    }

    private func happen(_ step: RowStep, to subject: RowSubject, _ db: Database) throws {
        switch step {
        case .lose:
            var entries = try RowEntryTable(db)
            var entry = try #require(try entries.entry(ref))
            entry.restore(in: layout)
            try entries.save(entry)
        case .missing, .missingInResync, .keep:
            try UnseenSettling(
                store.layouts, ProgressTable(db), db, start: .max, isResync: step == .missingInResync, at: 0
            ).settle([ref.id], of: layout, step == .keep ? .keep : .remove)
        case .discard, .discardWithRow:
            var door = try Door(store.layouts, db, at: 0)
            let entry = try #require(try door.entries.entry(ref))
            guard let taken = try TakenBack(entry, current: step.page(subject), in: door) else { return }
            try RejectionTable(db).insert(
                ref, taken.kind, RemotePush.Refusal(code: "", message: ""), mine: taken.mine, server: nil, at: 0)
            _ = try door.takeBack([taken], device: RowSubject.device)
        default:
            if let patch = step.page(subject) { try receive(.row(patch), db) }
            if let tombstone = step.tombstone { try receive(.deleted(tombstone), db) }
            if let verdict = step.verdict(subject) { try answer(verdict, db) }
        }
    }

    private func receive(_ content: RemotePage.Row.Content, _ db: Database) throws {
        try PageApplication(store.layouts, db, at: 0, PageContext())
            .apply([ReceivedRow(ref: ref, content: content)])
    }

    private func answer(_ verdict: RemotePush.Verdict, _ db: Database) throws {
        let batch = try #require(batch.value)
        var results = try PushResults([verdict], of: batch, layouts: store.layouts, db, at: 0, corrected: 0)
        try results.apply()
        try PageApplication(store.layouts, db, at: 0, PageContext(hasMore: true)).retryParked()
    }

    private func forget() async throws {
        try await store.apply { db in
            var entries = try RowEntryTable(db)
            try entries.forget(self.ref)
            try ParkedRows(db).remove(self.ref, in: Scope.personal)
            try db.execute(sql: "DELETE FROM card")
        }
    }
}

extension RowStep {
    /// The user's statement and its time, in seconds.
    fileprivate var write: (sql: String, second: Int64)? {
        switch self {
        case .insert: ("INSERT INTO card(id, title, body) VALUES (?, 'M', 'M')", 20)
        case .title: ("UPDATE card SET title = 'M' WHERE id = ?", 20)
        case .body: ("UPDATE card SET body = 'M' WHERE id = ?", 20)
        case .both: ("UPDATE card SET title = 'M', body = 'M' WHERE id = ?", 20)
        case .count: ("UPDATE card SET likes = likes + 2 WHERE id = ?", 20)
        case .delete: ("DELETE FROM card WHERE id = ?", 20)
        case .titleAgain: ("UPDATE card SET title = 'N' WHERE id = ?", 25)
        case .bodyAgain: ("UPDATE card SET body = 'N' WHERE id = ?", 25)
        case .countAgain: ("UPDATE card SET likes = likes + 1 WHERE id = ?", 25)
        case .deleteAgain: ("DELETE FROM card WHERE id = ?", 25)
        case .insertAgain: ("INSERT INTO card(id, title, body) VALUES (?, 'N', 'N')", 25)
        default: nil
        }
    }
}
