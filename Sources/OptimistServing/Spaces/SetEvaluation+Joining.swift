// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Pushes of a person who has tickets of spaces.
extension SetEvaluation {
    /// Evaluates a push that may join spaces.
    ///
    /// Only members may learn which rows a space has (P7). So the engine's rows, such as the member row, are evaluated
    /// alone first. A space that the person does not join is then treated as missing: neither the answers nor the clock
    /// nor a hook's calls depend on its rows. If the person joins, refused rows of the app do not undo that.
    static func joining(
        _ operations: [RowOperation], groups: [[RowKey]], in context: Context, over books: [Book], clock: ServerClock
    ) throws -> SetEvaluation {
        var books = books
        let open = books.indices.filter { books[$0].access.isJoining }
        func evaluate(_ operations: [RowOperation], _ groups: [[RowKey]]) throws -> SetEvaluation {
            try SetEvaluation(operations, groups: groups, in: context, over: books, clock: clock)
        }
        if open.isEmpty { return try evaluate(operations, groups) }
        let types = context.spaceTypes
        let joins = Set(
            operations.filter { $0.key.type == types.member && open.contains($0.book) }.map(\.key))
        let groups = separating(types.all, from: groups, with: joins, operations)
        let own = operations.indices.filter { types.all.contains(operations[$0].key.type) }
        let entrance = try evaluate(own.map { operations[$0] }, groups)
        var closed = open.filter { !entrance.joined.contains($0) }
        while true {
            for place in closed { books[place].access = .uninvited }
            var evaluation = try evaluate(operations, groups)
            // A quota may refuse the member row because of other rows.
            closed = open.filter { books[$0].access.isJoining && !evaluation.joined.contains($0) }
            if !closed.isEmpty { continue }
            for (index, verdict) in zip(own, entrance.verdicts) where verdict.isAtFault {
                let operation = operations[index]
                guard case .create = operation.action, joins.contains(operation.key),
                    books[operation.book].access == .uninvited,
                    try books[operation.book].reader.row(operation.key) == nil
                else { continue }
                evaluation.verdicts[index] = verdict
            }
            return evaluation
        }
    }

    /// Makes separate groups of the engine's rows and the app's rows, where a group has a member row that joins.
    private static func separating(
        _ types: Set<String>, from groups: [[RowKey]], with joins: Set<RowKey>, _ operations: [RowOperation]
    ) -> [[RowKey]] {
        let united = Units(operations, groups, unreadTypes: [])
        let joining = Set(joins.compactMap(united.number))
        return groups.flatMap { group in
            guard group.contains(where: { united.number(of: $0).map(joining.contains) ?? false }) else {
                return [group]
            }
            return [group.filter { types.contains($0.type) }, group.filter { !types.contains($0.type) }]
        }.filter { !$0.isEmpty }
    }

    /// Whether the push makes the sender a member of a space for which it has a ticket.
    func isJoined(_ place: Int, _ rows: WorkingRows) throws -> Bool {
        guard books[place].access.isJoining, let person = context.person else { return false }
        return try rolesAfter(place, rows)?[person] != nil
    }
}

extension RowVerdict {
    /// Whether the row is refused for its own sake, not because of another row of its group.
    fileprivate var isAtFault: Bool {
        if case .refused(let error) = self { error.type != "groupFailed" } else { false }
    }
}
