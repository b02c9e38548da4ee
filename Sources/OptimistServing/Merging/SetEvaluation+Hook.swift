// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension SetEvaluation {
    /// The rows of a unit in one account.
    private struct Part {
        var unit: Int
        var book: Int
        /// The operations, each with the row that it changes: the row that it names, or, if that row was merged, its
        /// successor.
        var changed: [(operation: Int, row: RowKey)]
    }

    /// Lets the app refuse or amend each unit that has not failed, before other rows are considered. The app gets a
    /// unit account by account.
    mutating func askApp() throws {
        guard let hook = context.hook else { return }
        for unit in units.all.indices {
            for book in books.indices where !units.hasFailed(unit) {
                let part = try part(of: unit, in: book)
                if !part.changed.isEmpty { try ask(hook, about: part) }
            }
        }
    }

    private mutating func ask(_ hook: HookCalls, about part: Part) throws {
        try context.meter?.step()
        let successors = try successors(in: part)
        let rows = writtenRows(part, successors)
        if rows.isEmpty { return }
        let book = books[part.book]
        let role = context.person == nil || book.access == .own ? nil : book.access.role
        switch hook.ask(rows, of: book.account, by: context.writer, role) {
        case .amended(let amendments):
            guard let bad = amend(part, amendments, successors) else { return }
            putOff(part.unit, .badAmendment(bad), hook)
        case .refused(let fault):
            refuse(
                part.unit, SetError("forbidden", fault.message, properties: fault.columns, code: fault.code))
        case .putOff(let failure): putOff(part.unit, failure, hook)
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

    private func part(of unit: Int, in book: Int) throws -> Part {
        let rows = WorkingRows(schema: context.schema, reader: books[book].reader)
        let own = units.all[unit].operations.filter {
            operations[$0].book == book || operations[$0].source == book
        }
        let changed = try own.map { index in
            let key = operations[index].key
            guard case .follow = steps[index] else { return (index, key) }
            return (index, try rows.successor(of: key) ?? key)
        }
        return Part(unit: unit, book: book, changed: changed)
    }

    private func writtenRows(_ part: Part, _ successors: [RowKey: RowEvaluation]) -> [WrittenRow] {
        var seen: Set<RowKey> = []
        return part.changed.map(\.row).filter { seen.insert($0).inserted }.compactMap { key in
            (successors[key] ?? books[part.book].evaluations[key])?.written
        }
    }

    private func successors(in part: Part) throws -> [RowKey: RowEvaluation] {
        let book = books[part.book]
        var successors: [RowKey: RowEvaluation] = [:]
        for (index, key) in part.changed {
            guard case .follow(let incoming) = steps[index], let type = context.schema.types[operations[index].key.type]
            else { continue }
            let own = units.number(of: key) == part.unit ? book.evaluations[key] : nil
            var row = try successors[key] ?? own ?? RowEvaluation(key: key, type: type, stored: book.reader.row(key))
            guard row.row.isAlive else { continue }
            row.setBack(before: incoming, clock)
            row.taken.formUnion(row.row.merge(row.row.part(of: incoming, of: operations[index].key)).taken)
            successors[key] = row
        }
        return successors
    }

    /// - Returns: The row whose amendment is impossible or refused by the app's check. Nil: all amendments were made.
    private mutating func amend(
        _ part: Part, _ amendments: [RowAmendment], _ successors: [RowKey: RowEvaluation]
    ) -> RowKey? {
        let book = part.book
        var (successors, amended): (_, [RowKey: Set<String>]) = (successors, [:])
        var former: [RowKey: RowEvaluation] = [:]
        for amendment in amendments {
            let (key, values) = (amendment.key, amendment.values)
            let isSuccessor = successors[key] != nil
            former[key] = former[key] ?? successors[key] ?? books[book].evaluations[key]
            guard isSuccessor || units.number(of: key) == part.unit,
                let columns = isSuccessor
                    ? successors[key]?.amend(values, &clock) : books[book].evaluations[key]?.amend(values, &clock)
            else { return key }
            amended[key, default: []].formUnion(columns)
        }
        for (key, columns) in amended {
            let row = successors[key] ?? books[book].evaluations[key]
            guard row?.objection(by: context.rowValidation) != nil else { continue }
            if former[key]?.objection(by: context.rowValidation, alsoOf: columns) == nil { return key }
        }
        for (index, key) in part.changed {
            guard let columns = amended[key] else { continue }
            switch steps[index] {
            case .merged(let life, let lost): steps[index] = .merged(life: life, lost: lost.union(columns))
            case .follow(var incoming):
                for column in columns { incoming.cells[column] = successors[key]?.row.cells[column] }
                steps[index] = .follow(incoming)
            case .destroyed, .gone, .refused: break
            }
        }
        return nil
    }
}

extension RowEvaluation {
    fileprivate var written: WrittenRow? {
        let before = stored.flatMap { $0.row.isAlive ? $0.row.shown(as: type) : nil }
        let after = row.isAlive ? row.shown(as: type) : nil
        if after == nil ? before == nil : taken.isEmpty { return nil }
        return WrittenRow(key: key, before: before, after: after, changed: after == nil ? [] : taken)
    }

    /// Writes the values of the app or the server as the latest write of the row.
    ///
    /// - Returns: The columns that changed. Nil: a column cannot hold its value, and the row is unchanged.
    mutating func amend(_ values: [String: JSON], _ clock: inout ServerClock) -> Set<String>? {
        let fits = values.allSatisfy { column, value in
            guard let definition = type.columns[column], definition.type != .counter else { return false }
            return definition.objection(to: value) == nil
        }
        guard row.isAlive, fits else { return nil }
        let before = self
        let changed = values.filter { row.cells[$0.key]?.value ?? .null != $0.value }
        if changed.isEmpty { return [] }
        clock.witness(row)
        let stamp = clock.tick()
        for (column, value) in changed { row.cells[column] = Cell(value, stamp) }
        taken.formUnion(changed.keys)
        if objectionToSize() != nil {
            self = before
            return nil
        }
        return Set(changed.keys)
    }
}
