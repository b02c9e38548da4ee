// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire
import Testing

@testable import Optimist

/// The outcome of every event in every state of a row, as recorded in RowCases.txt.
///
/// RowLawTests has the correct outcomes, in a world of one column. These tests record the actual outcomes, with two
/// columns, a counter, tables where edits win, edits made during a push, and servers without clocks.
@Suite(.timeLimit(.minutes(20)))
struct RowCasesTests {
    /// The received rows.
    private static let words: [[RowStep]] = [
        [], [.first], [.first, .end], [.first, .misfit], [.first, .misfitOfNextLife], [.own],
    ]
    static let edits: [[RowStep]] = [
        [], [.insert], [.title], [.both], [.count], [.delete], [.lose], [.lose, .title], [.title, .lose],
        [.insert, .earlyEnd], [.title, .earlyEnd], [.delete, .earlyEnd],
    ]
    /// The user's edits during a push.
    static let meanwhile: [[RowStep]] = [
        [], [.titleAgain], [.bodyAgain], [.countAgain], [.deleteAgain], [.insertAgain],
    ]
    /// Combined with `pages`, in both orders.
    private static let answers: [RowStep] = [
        .accepted, .acceptedEarlier, .titleWon, .titleWonEarlier, .gone, .goneUntold, .refused, .refusedWithRow,
        .refusedWithOlderRow, .nextLifeWon,
    ]
    private static let pages: [RowStep] = [
        .titlePage, .bothPage, .laterEchoPage, .unreadPage, .end, .earlyEnd, .unreadEnd, .reinedEnd,
    ]

    /// Longer states, without a following event.
    static let stories: [[RowStep]] = [
        // The times of deletions.
        [.first, .title, .send, .goneUntold, .lose], [.first, .title, .send, .gone, .lose],
        [.first, .title, .send, .goneUntold, .lose, .nextLifePage],
        [.first, .title, .send, .deleteAgain, .goneUntold, .lose],
        [.first, .title, .send, .deleteAgain, .gone, .send, .accepted],
        [.first, .title, .send, .deleteAgain, .gone, .send, .accepted, .lose],
        [.first, .title, .send, .deleteAgain, .insertAgain, .gone, .deleteAgain],
        [.first, .title, .deleteAgain, .insertAgain, .end, .deleteAgain],
        [.first, .title, .earlyEnd, .deleteAgain, .insertAgain, .deleteAgain],
        [.first, .title, .earlyEnd, .deleteAgain, .send, .accepted],
        [.first, .delete, .end, .lose], [.first, .delete, .send, .accepted, .lose, .insertAgain, .deleteAgain],
        // A restored server.
        [.first, .lose, .send, .samePage, .titleWon],
        [.first, .lose, .send, .titleAgain, .refusedWithOlderRow, .deleteAgain],
        [.first, .end, .lose, .send, .nextLifePage, .accepted],
        [.first, .end, .lose, .send, .earlyNextLifePage, .accepted],
        [.first, .title, .send, .lose, .gone], [.first, .title, .send, .lose, .accepted],
        // A server that has forgotten a deletion.
        [.first, .title, .send, .titlePage, .goneEarlier],
        [.nextLifePage, .unreadEnd], [.nextLifePage, .title, .send, .forgottenPage, .gone],
        [.insert, .send, .end, .accepted, .forgottenPage],
        [.first, .end, .insert, .send, .forgottenPage, .refused],
        [.first, .count, .missingInResync, .send, .forgottenPage, .refused],
        [.first, .count, .missingInResync, .send, .refused, .forgottenPage],
        [.bothPage, .echoPage], [.bothPage, .title, .echoPage],
        [.bothPage, .title, .send, .acceptedEarlier, .echoPage],
        // Consecutive lives.
        [.first, .delete, .insertAgain, .deleteAgain], [.first, .delete, .send, .insertAgain, .deleteAgain],
        [.first, .delete, .send, .refused, .insertAgain], [.first, .delete, .send, .refused, .insertAgain, .titlePage],
        [.first, .title, .send, .deleteAgain, .insertAgain, .accepted],
        [.first, .title, .send, .deleteAgain, .insertAgain, .nextLifeWon, .nextLifePage],
        [.first, .title, .send, .deleteAgain, .insertAgain, .nextLifeWon, .nextLifePage, .discard],
        [.first, .delete, .insertAgain, .send, .bothPage, .refusedWithOlderRow],
        [.first, .delete, .insertAgain, .send, .nextLifePage, .refusedWithOlderRow],
        [.first, .delete, .send, .bothPage, .refusedWithOlderRow],
        [.first, .delete, .send, .titlePage, .refusedWithRow],
        [.first, .delete, .send, .bothPage, .accepted], [.first, .delete, .send, .end, .refusedWithOlderRow],
        [.first, .title, .send, .end, .recalled], [.insert, .send, .end, .blocked],
        // Values that another device replaced unread, and counts.
        [.own, .unreadPage, .unreadPage], [.own, .count, .send, .countAgain, .refused],
        [.own, .count, .countedNextLifePage], [.own, .count, .earlyNextLifePage], [.first, .title, .fifthLifePage],
        [.own, .lose, .send, .unreadPage, .sumToldEarlier], [.own, .title, .send, .unreadPage, .sumToldEarlier],
        [.own, .count, .send, .titlePage, .sumTold], [.own, .count, .send, .sumTold, .titlePage],
        [.own, .lose, .countAgain, .send, .accepted, .titlePage],
        [.own, .lose, .countAgain, .send, .unreadPage, .sumTold],
    ]

    /// The events that can follow a state, each of one or two steps.
    private static func events(after state: [RowStep], hasClocks: Bool) -> [[RowStep]] {
        let singles = RowStep.pages + RowStep.others + RowStep.answers
        let isSent = state.last == .send || (state.last == .titleAgain && !state.contains(.own))
        guard isSent, state.contains(.send), !Self.isElsewhere(state) else { return singles.map { [$0] } }
        let pages = hasClocks ? pages : [.bothPage, .end]
        let pairs = answers.flatMap { answer in pages.flatMap { [[answer, $0], [$0, answer]] } }
        return singles.map { [$0] } + pairs
    }

    /// Whether the app's table lacks the server's row.
    private static func isElsewhere(_ state: [RowStep]) -> Bool {
        state.contains(.misfit) || state.contains(.misfitOfNextLife)
    }

    static func states(above words: [[RowStep]]) -> [[RowStep]] {
        var states: [[RowStep]] = []
        for word in words {
            for edit in edits {
                states.append(word + edit)
                if edit.isEmpty { continue }
                for more in isElsewhere(word) ? [[], [.titleAgain]] : meanwhile {
                    states.append(word + edit + [.send] + more)
                }
            }
        }
        return states
    }

    /// The outcomes of each state, each with its events.
    private static func cases(editWins: Bool, hasClocks: Bool) -> String {
        var lines = ["# \(editWins ? "An edit" : "A deletion") wins, \(hasClocks ? "with" : "without") clocks"]
        // Skipped without clocks: a misfit of the next life would add no new case.
        for state in states(above: hasClocks ? words : words.filter { !$0.contains(.misfitOfNextLife) }) {
            guard let start = subject(after: state, editWins, hasClocks) else { continue }
            lines.append("\(name(state)): \(start)")
            var outcomes: [(events: [String], outcome: String)] = []
            for event in events(after: state, hasClocks: hasClocks) {
                guard let subject = subject(after: event, from: start) else { continue }
                let outcome = subject.description
                if let place = outcomes.firstIndex(where: { $0.outcome == outcome }) {
                    outcomes[place].events.append(name(event))
                } else {
                    outcomes.append(([name(event)], outcome))
                }
            }
            for (events, outcome) in outcomes { lines.append("- \(events.joined(separator: ", ")): \(outcome)") }
        }
        for story in stories {
            guard let subject = subject(after: story, editWins, hasClocks) else { continue }
            lines.append("\(name(story)): \(subject)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func subject(after steps: [RowStep], _ editWins: Bool, _ hasClocks: Bool) -> RowSubject? {
        subject(after: steps, from: RowSubject(editWins: editWins, hasClocks: hasClocks))
    }

    /// Returns nil if the steps cannot happen.
    private static func subject(after steps: [RowStep], from start: RowSubject) -> RowSubject? {
        var subject = start
        for step in steps {
            guard step.isPossible(for: subject) else { return nil }
            step.happen(to: &subject)
        }
        return subject
    }

    static func name(_ steps: [RowStep]) -> String {
        steps.isEmpty ? "nothing" : steps.map { "\($0)" }.joined(separator: " ")
    }

    @Test func `M7 an edit made since the push is journaled if the server refuses a row that it had lost`() throws {
        let steps: [RowStep] = [.first, .misfit, .lose, .send, .bodyAgain, .refused]
        let subject = try #require(Self.subject(after: steps, false, true))
        #expect(subject.notes.contains(#"lost body "N""#))
    }

    @Test func `M7 an edit made since the push is journaled if the refusal reports the next life`() throws {
        let steps: [RowStep] = [.first, .title, .send, .titleAgain, .refusedWithNextLife]
        let subject = try #require(Self.subject(after: steps, false, true))
        #expect(subject.notes.contains(#"lost title "N""#))
    }

    @Test(arguments: [(0, 2), (1, 2), (3, 2), (6, 6)])
    func `L3 if an answer does not contain the end of the sent life, that life ends at an unknown time`(
        told: Int, ended: Int
    ) throws {
        var subject = try #require(Self.subject(after: [.first, .title, .send], false, true))
        subject.answer(.gone(seq: 9, Tombstone(generation: told, clock: RowSubject.clock(30))))
        #expect(subject.entry.generation == ended && subject.entry.remote.generation == ended)
        #expect(subject.entry.remote.clocks.common == (told == ended ? RowSubject.clock(30) : nil))
    }

    @Test func `L4 W4 in a restarted life, a value that no user wrote yields to any other`() {
        var subject = RowSubject(editWins: false, hasClocks: true)
        let clocks = ColumnClocks(common: RowSubject.clock(10))
        subject.receive(RowPatch(generation: 1, clocks: clocks, seq: 5, values: ["body": "A", "likes": 3]))
        subject.update(["body": "M"], at: 20)
        subject.keep()
        #expect(subject.entry.unsentClock(of: "title").stamp < Stamp(milliseconds: 1))
        #expect(subject.entry.unsentClock(of: "body").stamp == RowSubject.clock(20).stamp)
    }

    /// `OPTIMIST_WRITE_CASES=1` writes the file.
    @Test func `M1 M2 S4 every event in every state of a row has its recorded outcome`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../Fixtures/RowCases.txt")
        let cases = [(false, true), (true, true), (false, false)].map(Self.cases).joined(separator: "\n")
        if ProcessInfo.processInfo.environment["OPTIMIST_WRITE_CASES"] != nil {
            return try cases.write(to: file, atomically: true, encoding: .utf8)
        }
        let known = try String(contentsOf: file, encoding: .utf8)
        if cases == known { return }
        let (present, former) = (cases.split(separator: "\n"), known.split(separator: "\n"))
        #expect(present.count == former.count)
        for (now, before) in zip(present, former) where now != before {
            Issue.record("was: \(before)\nis: \(now)")
        }
    }
}
