// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire
import Testing

@testable import Optimist

/// One event for one row: a line of the table of moves in Fixtures/RowLaw.md.
///
/// The user has the spaces A, B and C. Values are letters with the second in which they were written.
struct MoveCase: CustomTestStringConvertible, Sendable {
    enum Space: Int, CustomStringConvertible, Sendable {
        case a, b, c
        /// Another user's space.
        case x

        var description: String { ["A", "B", "C", "X"][rawValue] }
    }

    enum Edit: Sendable {
        case create(Space)
        case edit
        case delete
        case move(Space, at: Int)
        /// Sends the new row. The answer gets lost.
        case send
    }

    enum Event: Sendable {
        case row(Space, String, at: Int, life: Int = 1, firstLife: Int = 1, seq: Int64 = 5)
        case ended(Space, life: Int)
        case left(Space, to: Space, at: Int = 15, life: Int, seq: Int64 = 6)
        case accepted, refused, behind
        case moved(from: Space, to: Space, at: Int, life: Int)
        case accessEnded(Space)
        case assembly
    }

    struct State: Equatable {
        var said: String
        var unsent: String
        /// The title and the space. Nil if the table does not have the row.
        var shown: (title: String, space: String)?

        static func == (a: State, b: State) -> Bool { a.said == b.said && a.unsent == b.unsent && a.shows == b.shows }

        var shows: String { shown.map { "\($0.title), in \($0.space)" } ?? "nothing" }
    }

    let given: [Event]
    /// The possible edits above the given state.
    let edits: [[Edit]]
    let event: Event
    let said: String
    let unsent: String
    let shows: String

    init(
        _ given: [Event], _ edits: [[Edit]], _ event: Event, said: String = "the same", unsent: String, shows: String
    ) {
        (self.given, self.edits, self.event) = (given, edits, event)
        (self.said, self.unsent, self.shows) = (said, unsent, shows)
    }

    var testDescription: String { "\(run(edits[0]).before.said), \(event)" }

    /// The line in the document.
    var line: String {
        let before = edits.map { run($0).before }
        let edit = edits.count > 1 && edits[0].isEmpty ? "any" : before.map(\.unsent).joined(separator: " or ")
        return "| \(before[0].said) | \(edit) | \(event) | \(said) | \(unsent) | \(shows) |\n"
    }

    /// The state that the case expects.
    func expected(after before: State) -> State {
        var shown = before.shown
        if shows == "nothing" {
            shown = nil
        } else if let title = shows.hasPrefix("the same") ? before.shown?.title : String(shows.prefix(1)) {
            shown = (title, shows.contains("in ") ? String(shows.suffix(1)) : before.shown?.space ?? "")
        }
        return State(
            said: said == "the same" ? before.said : said, unsent: unsent == "the same" ? before.unsent : unsent,
            shown: shown)
    }
}

// MARK: - Running

extension MoveCase {
    func run(_ edits: [Edit]) -> (before: State, after: State) {
        var subject = Subject()
        for event in given { subject.receive(event) }
        for edit in edits { subject.write(edit) }
        let before = subject.state
        subject.log.kept = [:]
        subject.receive(event)
        return (before, subject.state)
    }

    /// A device with one row, which is a list.
    struct Subject {
        var device = MoveModel.Device(number: 0, spaces: [0, 1, 2], fault: nil, skew: 0)
        var log = MoveModel.Log()
        var isAssembled = false

        mutating func write(_ edit: Edit) {
            switch edit {
            case .create(let space):
                device.rows = [MoveModel.Device.LocalRow(isList: true, edit: MoveModel.Device.Edit(isNew: true))]
                write(space, at: 20)
                device.write(0, isHome: false, title("M", at: 20), &log)
            case .edit: device.write(0, isHome: false, title("M", at: 20), &log)
            case .delete: device.delete(0, &log)
            case .move(let space, let time): write(space, at: time)
            case .send: for group in device.groups() { device.note(group) }
            }
        }

        private mutating func write(_ space: Space, at time: Int) {
            device.write(0, isHome: true, MoveModel.Cell(value: space.rawValue, time: time), &log)
        }

        private func title(_ letter: Character, at time: Int) -> MoveModel.Cell {
            MoveModel.Cell(value: Int(letter.asciiValue ?? 0), time: time)
        }

        mutating func receive(_ event: Event) {
            switch event {
            case .row(let space, let letter, let time, let life, let firstLife, let seq):
                var values = MoveModel.Values(title: title(letter.first ?? "?", at: time))
                values.home = MoveModel.Cell(value: space.rawValue, time: life == 1 ? 1 : 15)
                receive(version(life, firstLife, seq), values, from: space)
            case .ended(let space, let life): receive(version(life, 1, 6), from: space)
            case .left(let space, let to, let time, let life, let seq):
                receive(tombstone(to, at: time, life: life, seq: seq), from: space)
            case .accepted:
                guard let sent = device.groups().first?.first?.sent else { return }
                let told = version(sent.generation + 2, sent.firstLife, 6)
                answer(.copied(told, leaving: version(sent.generation + 1, sent.firstLife, 6)))
            case .refused: answer(.refused)
            case .behind: answer(.behind)
            case .moved(_, let to, let time, let life): answer(.moved(tombstone(to, at: time, life: life, seq: 6)))
            case .accessEnded(let space): device.endAccess(to: space.rawValue, of: 0, &log)
            case .assembly: isAssembled = true
            }
        }

        private func version(_ life: Int, _ firstLife: Int, _ seq: Int64) -> RowPlace.Version {
            RowPlace.Version(generation: life, firstLife: firstLife, seq: seq)
        }

        private func tombstone(_ space: Space, at time: Int, life: Int, seq: Int64) -> RowPlace.Version {
            var told = version(life - 1, 1, seq)
            let clock = WriteClock(stamp: Stamp(rawValue: Int64(time)), device: "")
            told.movedTo = RowPlace.Destination(space: space.rawValue, generation: life, clock: clock)
            return told
        }

        private mutating func receive(
            _ told: RowPlace.Version, _ values: MoveModel.Values = MoveModel.Values(), from space: Space
        ) {
            device.receive(MoveModel.Row(version: told, isList: true, values: values), 0, from: space.rawValue, &log)
        }

        private mutating func answer(_ answer: RowPlace.Answer) {
            guard let change = device.groups().first?.first else { return }
            device.receive(.answer(answer), to: change, &log)
        }
    }
}

// MARK: - Describing

extension MoveCase.Subject {
    var state: MoveCase.State {
        let row = device[0]
        let said = row.flatMap { row in row.place.space.map { place($0, row) } } ?? "nothing"
        let shown = row?.shown.flatMap { values in
            device.space(of: 0).map { (title: letter(values.title), space: name($0)) }
        }
        return MoveCase.State(said: said, unsent: unsent(row), shown: shown)
    }

    private func name(_ space: Int) -> String { MoveCase.Space(rawValue: space)?.description ?? "?" }

    private func letter(_ cell: MoveModel.Cell?) -> String {
        cell.flatMap { UInt8(exactly: $0.value) }.map { String(UnicodeScalar($0)) } ?? "?"
    }

    private func place(_ space: Int, _ row: MoveModel.Device.LocalRow) -> String {
        var parts = [describe(row.place.version, row.values)]
        if row.place.isNoted { parts.append("sent") }
        for (space, claim) in row.place.claims.sorted(by: { $0.key < $1.key }) {
            parts.append("claim \(name(space)): \(describe(claim, row.parked[space]?.values ?? MoveModel.Values()))")
        }
        return "\(name(space)): \(parts.joined(separator: ", "))"
    }

    private func describe(_ version: RowPlace.Version, _ values: MoveModel.Values) -> String {
        var parts = values.title.map { ["\(letter($0))@\($0.time)"] } ?? []
        if version.generation > 0, !version.isAlive { parts.append("ended") }
        if version.generation != 1 || parts.isEmpty { parts.append("life \(version.generation)") }
        if let to = version.movedTo, let space = to.space {
            parts.append("moved to \(name(space)), life \(to.generation)")
        }
        return parts.joined(separator: ", ")
    }

    private func unsent(_ row: MoveModel.Device.LocalRow?) -> String {
        var parts: [String] = []
        if let edit = row?.edit {
            if let title = edit.values.title {
                parts.append("\(edit.isNew ? "create" : "edit") \(letter(title))@\(title.time)")
            }
            if edit.isDeleted { parts.append("delete") }
            if let home = edit.values.home, home.value != row?.place.space {
                parts.append("move to \(name(home.value))@\(home.time)")
            }
        }
        for change in device.groups().joined() where isAssembled {
            let from = name(change.sent.space)
            let step = change.sent.destination.map { "copy from \(from) to \(name($0))" } ?? "delete in \(from)"
            parts.append(change.isWhole ? "\(step), with the whole row" : step)
        }
        if parts.isEmpty { parts.append("nothing") }
        if let kept = log.kept[0] { parts.append(kept) }
        return parts.joined(separator: ", ")
    }
}

extension MoveCase.Event: CustomStringConvertible {
    var description: String {
        switch self {
        case .row(let space, let letter, let time, let life, let firstLife, _):
            let lives = life == 1 ? "" : firstLife == life ? ", life \(life), a new row" : ", life \(life)"
            return "page \(space): \(letter)@\(time)\(lives)"
        case .ended(let space, let life): return "page \(space): ended, life \(life)"
        case .left(let space, let to, let time, let life, _):
            return "page \(space): moved to \(to)@\(time), life \(life)"
        case .accepted: return "answer: accepted"
        case .refused: return "answer: refused"
        case .behind: return "answer: behind"
        case .moved(_, let to, let time, let life): return "answer: moved to \(to)@\(time), life \(life)"
        case .accessEnded(let space): return "access to \(space) ended"
        case .assembly: return "assembly"
        }
    }
}
