// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension SetEvaluation {
    /// Lets the app refuse or amend each unit that has not failed, before other rows are taken into account.
    mutating func askApp() throws {
        guard let hook = context.hook else { return }
        for unit in units.all.indices where !units.hasFailed(unit) {
            try context.meter?.step()
            let rows = writtenRows(of: unit)
            if rows.isEmpty { continue }
            switch hook.ask(rows) {
            case .amended(let amendments):
                guard let bad = amend(unit, amendments) else { continue }
                putOff(unit, .badAmendment(bad), hook)
            case .refused(let fault):
                refuse(
                    unit, SetError("forbidden", fault.message, properties: fault.columns, code: fault.code))
            case .putOff(let failure): putOff(unit, failure, hook)
            }
        }
    }

    private mutating func putOff(_ unit: Int, _ failure: GroupHook.Failure, _ hook: HookCalls) {
        hook.failed(failure)
        if case .late = failure {
            refuse(unit, SetError("rateLimit", "The app's check takes too long."))
        } else {
            refuse(unit, SetError("serverFail", "The app's check failed."))
        }
    }

    /// The rows that the unit changes. A repetition changes none.
    private func writtenRows(of unit: Int) -> [WrittenRow] {
        var seen: Set<RowKey> = []
        return keys(of: unit).filter { seen.insert($0).inserted }.compactMap { evaluations[$0]?.written }
    }

    /// - Returns: The row whose amendment is not possible. Nil: all are made.
    private mutating func amend(_ unit: Int, _ amendments: [RowAmendment]) -> RowKey? {
        var amended: [RowKey: Set<String>] = [:]
        for amendment in amendments {
            guard units.number(of: amendment.key) == unit,
                let columns = evaluations[amendment.key]?.amend(amendment.values, &clock)
            else { return amendment.key }
            amended[amendment.key, default: []].formUnion(columns)
        }
        for index in units.all[unit].operations {
            guard let columns = amended[operations[index].key], case .merged(let life, let lost) = steps[index] else {
                continue
            }
            steps[index] = .merged(life: life, lost: lost.union(columns))
        }
        return nil
    }
}

extension RowEvaluation {
    /// What the operations do to the row, for the app. Nil: nothing.
    fileprivate var written: WrittenRow? {
        let before = stored.flatMap { $0.row.isAlive ? $0.row.shown(as: type) : nil }
        let after = row.isAlive ? row.shown(as: type) : nil
        if after == nil ? before == nil : taken.isEmpty { return nil }
        return WrittenRow(key: key, before: before, after: after, changed: after == nil ? [] : taken)
    }

    /// Gives columns the app's values, as the latest write of the row.
    ///
    /// - Returns: The columns that changed. Nil: a column cannot hold its value, and the row is as it was.
    fileprivate mutating func amend(_ values: [String: JSON], _ clock: inout ServerClock) -> Set<String>? {
        let fits = values.allSatisfy { column, value in
            guard let definition = type.columns[column], definition.type != .counter else { return false }
            return definition.objection(to: value) == nil
        }
        guard row.isAlive, fits else { return nil }
        let before = self
        clock.witness(row)
        let stamp = clock.tick()
        let changed = values.filter { row.cells[$0.key]?.value ?? .null != $0.value }
        for (column, value) in changed { row.cells[column] = Cell(value, stamp) }
        taken.formUnion(changed.keys)
        if objectionToSize() != nil {
            self = before
            return nil
        }
        return Set(changed.keys)
    }
}
