// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

extension MoveModel {
    /// The shell around ``RowPlace``: a device with values and unsent edits.
    struct Device {
        struct Edit: Equatable {
            /// The unsent cells.
            var values = Values()
            /// This device's total, or zero if the server has it.
            var total: Int32 = 0
            var isDeleted = false
            var isNew = false

            var isEmpty: Bool { self == Edit() }
        }

        struct LocalRow {
            let isList: Bool
            var place = RowPlace()
            /// The server's values.
            var values = Values()
            var edit: Edit?
            /// The claims, by space.
            var parked: [Int: Row] = [:]

            /// The row in the app's table. Nil if the table does not have it.
            var shown: Values? {
                if edit?.isDeleted == true || !place.isAlive && edit?.isNew != true { return nil }
                var shown = place.isAlive ? values : Values()
                if let edit { shown.merge(edit.values) }
                return shown
            }
        }

        let number: Int
        let spaces: [Int]
        let fault: Fault?
        /// The advance of the device's clock.
        let skew: Int
        var rows: [LocalRow?] = []
        var cursors: [Int: Int64] = [:]
        var inFlight: [(Change, Verdict)] = []

        subscript(id: Int) -> LocalRow? { id < rows.count ? rows[id] : nil }

        func ids(lists: Bool) -> [Int] { rows.indices.filter { rows[$0]?.isList == lists && rows[$0]?.shown != nil } }

        /// The space in which the app has the row. Nil if the row or its list is unknown.
        func space(of id: Int) -> Int? {
            guard let row = self[id], let shown = row.shown else { return nil }
            if !row.isList { return shown.home.flatMap { self[$0.value]?.isList == true ? space(of: $0.value) : nil } }
            if fault == .impliedMove { return shown.home?.value }
            return row.edit?.values.home?.value ?? row.place.space ?? shown.home?.value
        }

        func count(of id: Int) -> Int {
            guard let row = self[id] else { return 0 }
            var values = row.values
            if let edit = row.edit { values.counts[number] = max(values.counts[number], edit.total) }
            return values.count
        }
    }
}

// MARK: - Pages

extension MoveModel.Device {
    mutating func receive(_ told: MoveModel.Row, _ id: Int, from space: Int, _ log: inout MoveModel.Log) {
        while rows.count <= id { rows.append(nil) }
        if isDropped(told, id, from: space) { return }
        var row = rows[id] ?? LocalRow(isList: told.isList)
        if fault == .claimShown, told.isAlive, row.place.isAlive, row.place.space != space { row.place = RowPlace() }
        let outcome = row.place.receive(known(told.version), from: space)
        row.parked[space] = told
        rows[id] = row
        perform(outcome, on: id, receiving: told, &log)
    }

    /// Whether a fault drops a claim.
    private func isDropped(_ told: MoveModel.Row, _ id: Int, from space: Int) -> Bool {
        guard let place = self[id]?.place, place.isAlive || place.isNoted, place.space != space else { return false }
        return fault == .claimDropped || fault == .claimOfTombstoneDropped && !told.isAlive
    }

    /// The version as this device knows it: without the names of other people's spaces.
    private func known(_ told: RowPlace.Version) -> RowPlace.Version {
        var version = told
        if let to = version.movedTo?.space, fault == .departureIgnored || !spaces.contains(to) {
            version.movedTo?.space = nil
        }
        return version
    }

    private mutating func perform(
        _ outcome: RowPlace.Outcome, on id: Int, receiving told: MoveModel.Row? = nil, _ log: inout MoveModel.Log
    ) {
        switch outcome.step {
        case .receive(let continues): if let told { merge(told, id, continues: continues, &log) }
        case .rebase(let destination): rebase(id, to: destination)
        case .end(let ending): end(id, ending, &log)
        case .reject: drop(id, "rejection", &log)
        case .rejectMove:
            change(id) { $0.edit?.values.home = nil }
            log.kept[id] = "rejection"
        case .none, .park, .confirm, .wait: break
        }
        let parked = rows[id]?.parked ?? [:]
        change(id) { row in row.parked = parked.filter { row.place.claims[$0.key] != nil } }
        if let space = outcome.unparked, let told = parked[space] { receive(told, id, from: space, &log) }
    }

    /// Changes a row, and forgets an empty edit.
    private mutating func change(_ id: Int, _ body: (inout LocalRow) -> Void) {
        guard var row = self[id] else { return }
        body(&row)
        if row.edit?.isEmpty == true { row.edit = nil }
        rows[id] = row
    }

    private mutating func merge(_ told: MoveModel.Row, _ id: Int, continues: Bool, _ log: inout MoveModel.Log) {
        if !continues, self[id]?.edit?.isNew != true { drop(id, "journal", &log) }
        change(id) { [number] row in
            if !continues { row.values = MoveModel.Values() }
            row.values.merge(told.values)
            guard let edit = row.edit else { return }
            row.edit?.isNew = false
            if edit.values.home?.time ?? 0 <= row.values.home?.time ?? 0 { row.edit?.values.home = nil }
            if edit.values.title?.time ?? 0 <= row.values.title?.time ?? 0 { row.edit?.values.title = nil }
            if edit.total <= row.values.counts[number] { row.edit?.total = 0 }
        }
    }

    private mutating func rebase(_ id: Int, to destination: RowPlace.Destination) {
        change(id) { row in
            row.edit?.isNew = false
            guard let clock = destination.clock?.stamp.rawValue, let mine = row.edit?.values.home?.time else { return }
            if mine < clock { row.edit?.values.home = nil }
        }
    }

    private mutating func drop(_ id: Int, _ keeper: String, _ log: inout MoveModel.Log) {
        guard self[id]?.edit != nil else { return }
        log.dropped.append((number, id))
        log.kept[id] = keeper
        rows[id]?.edit = nil
    }

    /// Ends a row. The app's foreign keys delete the to-dos of a list.
    private mutating func end(_ id: Int, _ ending: RowPlace.Ending, _ log: inout MoveModel.Log) {
        let children = ids(lists: false).filter { rows[$0]?.shown?.home?.value == id }
        let keeper =
            switch ending {
            case .ended: "journal"
            case .movedAway: "journal `movedAway`"
            case .accessEnded: "rejection"
            }
        drop(id, keeper, &log)
        change(id) { $0.values = MoveModel.Values() }
        for child in children where self[child]?.edit?.isNew == true || self[child]?.edit?.values.home != nil {
            remove(child, &log)
        }
    }

    mutating func endAccess(to space: Int, of id: Int, _ log: inout MoveModel.Log) {
        let target = self[id]?.edit?.values.home?.value
        guard let outcome = rows[id]?.place.endAccess(to: space, movingTo: target) else { return }
        perform(outcome, on: id, &log)
    }
}

// MARK: - Answers

extension MoveModel.Device {
    mutating func receiveAnswers(_ log: inout MoveModel.Log) {
        let answers = inFlight
        inFlight = []
        for (change, verdict) in answers { receive(verdict, to: change, &log) }
    }

    mutating func receive(_ verdict: MoveModel.Verdict, to change: MoveModel.Change, _ log: inout MoveModel.Log) {
        guard case .answer(var answer) = verdict else { return }
        if case .moved(let told) = answer { answer = .moved(known(told)) }
        if fault == .placeNotNoted, change.kind == .set { rows[change.row]?.place.note(change.sent.space) }
        guard let outcome = rows[change.row]?.place.answer(answer, to: change.sent) else { return }
        if outcome.step == .confirm { confirm(change) }
        perform(outcome, on: change.row, &log)
    }

    private mutating func confirm(_ sent: MoveModel.Change) {
        change(sent.row) { [number] row in
            if sent.kind == .delete {
                if row.place.space == sent.sent.space { row.edit = nil }
                if !row.place.isAlive { row.values = MoveModel.Values() }
            } else if row.place.isAlive {
                row.values.merge(sent.values)
                row.edit?.isNew = false
                if row.edit?.values.home == sent.values.home { row.edit?.values.home = nil }
                if row.edit?.values.title == sent.values.title { row.edit?.values.title = nil }
                if row.edit?.total == sent.values.counts[number] { row.edit?.total = 0 }
            }
        }
    }
}
