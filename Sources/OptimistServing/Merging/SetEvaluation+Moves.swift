// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Rows that move from one account of the push to another. Both halves of a move are one unit.
extension SetEvaluation {
    mutating func move(_ operation: RowOperation, _ type: TypeSchema, from source: Int) throws -> RowStep {
        let (place, key) = (operation.book, operation.key)
        var leaving = try evaluation(of: operation, type, in: source)
        var arriving = try evaluation(of: operation, type, in: place)
        let step = leaving.move(
            operation.action, to: &arriving, in: books[place].account, by: type.space?.column,
            validation: context.rowValidation, texts: context.texts, clock: &clock)
        if case .merged = step, !isAtHome(arriving, in: place) { return .behind }
        (books[source].evaluations[key], books[place].evaluations[key]) = (leaving, arriving)
        return step
    }

    /// Whether the column that decides a row's account names this one.
    private func isAtHome(_ row: RowEvaluation, in place: Int) -> Bool {
        rules.isAtHome(row.row, row.type, in: books[place].account, books[place].access)
    }

    /// The end of a moved row in its source, for its answer. Nil: the operation moved no row.
    func departure(of index: Int, _ rows: [WorkingRows]) throws -> Tombstone? {
        guard let source = operations[index].source else { return nil }
        switch verdicts[index] {
        case .accepted, .mergedInto: return try tombstone(of: operations[index].key, rows[source])
        case .gone, .refused: return nil
        }
    }
}
