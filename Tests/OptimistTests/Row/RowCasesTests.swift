// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import Optimist

/// What becomes of a row in every state after every event: RowCases.txt.
///
/// RowLawTests says what is right, in a world of one column. This says what is so, in one with two columns, a counter,
/// tables where an edit brings a deleted row back, edits made while a push is on its way, and servers without clocks.
@Suite(.timeLimit(.minutes(20)))
struct RowCasesTests {
    /// What the server has said before.
    private static let words: [[RowStep]] = [
        [], [.first], [.first, .end], [.first, .misfit], [.first, .misfitOfNextLife],
    ]
    private static let edits: [[RowStep]] = [
        [], [.insert], [.title], [.both], [.count], [.delete], [.lose], [.lose, .title], [.title, .lose],
    ]
    /// What the user does while the push is on its way.
    private static let meanwhile: [[RowStep]] = [
        [], [.titleAgain], [.bodyAgain], [.countAgain], [.deleteAgain], [.insertAgain],
    ]
    /// Pairs of an answer and a page, in both orders.
    private static let answers: [RowStep] = [
        .accepted, .titleWon, .gone, .refused, .refusedWithRow, .nextLifeWon,
    ]
    private static let pages: [RowStep] = [.titlePage, .bothPage, .laterEchoPage, .unreadPage, .end, .unreadEnd]

    /// The events of a state, each of one step or two.
    private static func events(after state: [RowStep], hasClocks: Bool) -> [[RowStep]] {
        let singles = RowStep.pages + RowStep.others + RowStep.answers
        guard hasClocks, let push = state.firstIndex(of: .send), state.count - push <= 2 else {
            return singles.map { [$0] }
        }
        let isEdited = state.count - push == 2
        if isEdited, state.last != .titleAgain { return singles.map { [$0] } }
        let pairs = answers.flatMap { answer in pages.flatMap { [[answer, $0], [$0, answer]] } }
        return singles.map { [$0] } + pairs
    }

    private static var states: [[RowStep]] {
        var states: [[RowStep]] = []
        for word in words {
            for edit in edits {
                states.append(word + edit)
                if edit.isEmpty { continue }
                for more in meanwhile { states.append(word + edit + [.send] + more) }
            }
        }
        return states
    }

    /// The outcomes of each state, and the events that have each of them.
    private static func cases(editWins: Bool, hasClocks: Bool) -> String {
        var lines = ["# \(editWins ? "An edit" : "A deletion") wins, \(hasClocks ? "with" : "without") clocks"]
        for state in states {
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
        return lines.joined(separator: "\n") + "\n"
    }

    private static func subject(after steps: [RowStep], _ editWins: Bool, _ hasClocks: Bool) -> RowSubject? {
        subject(after: steps, from: RowSubject(editWins: editWins, hasClocks: hasClocks))
    }

    /// Nil: the steps cannot happen.
    private static func subject(after steps: [RowStep], from start: RowSubject) -> RowSubject? {
        var subject = start
        for step in steps {
            guard step.isPossible(for: subject) else { return nil }
            step.happen(to: &subject)
        }
        return subject
    }

    private static func name(_ steps: [RowStep]) -> String {
        steps.isEmpty ? "nothing" : steps.map { "\($0)" }.joined(separator: " ")
    }

    @Test func `M7 an edit since the push of a row that the server lost and refuses is kept`() throws {
        let steps: [RowStep] = [.first, .misfit, .lose, .send, .bodyAgain, .refused]
        let subject = try #require(Self.subject(after: steps, false, true))
        #expect(subject.notes.contains(#"lost body "N""#))
    }

    @Test func `M7 an edit since the push goes to the journal if a refusal tells of the next life`() throws {
        let steps: [RowStep] = [.first, .title, .send, .titleAgain, .refusedWithNextLife]
        let subject = try #require(Self.subject(after: steps, false, true))
        #expect(subject.notes.contains(#"lost title "N""#))
    }

    /// `OPTIMIST_WRITE_CASES=1` writes the file.
    @Test func `M1 M2 S4 every event in every state of a row comes to what it came to before`() throws {
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
