// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A row that moves to another account.
///
/// A move edits the row in its account, and begins the row's next life in the other. Lives are numbered across accounts.
/// The lives since ``RowMemory/firstLife`` continue in the new one, so edits and deletes of these lives follow the row.
extension RowEvaluation {
    /// Applies the sender's values, and continues the row in another account.
    ///
    /// If the row may not move, neither row changes.
    ///
    /// - Parameters:
    ///   - destination: The row with the same id in the other account.
    ///   - home: The column that decides the row's account. Nil: any account.
    mutating func move(
        _ action: RowOperation.Action, to destination: inout RowEvaluation, in account: String, by home: String?,
        validation: RowValidation, texts: MatchedTexts, clock: inout ServerClock
    ) -> RowStep {
        let (before, beforeThere) = (self, destination)
        var step = apply(action, validation: validation, texts: texts, clock: &clock)
        if case .merged(let life, let lost) = step {
            step = life < firstLife ? .behind : destination.arrive(from: self, without: lost)
        } else if case .follow = step {
            // The device must learn that its row was merged before it can move the other row.
            step = .behind
        }
        switch step {
        case .merged: leave(for: destination, in: account, by: home, &clock)
        case .refused: (self, destination) = (before, beforeThere)
        case .destroyed, .gone, .follow: break
        }
        return step
    }

    /// - Parameter lost: The columns that the sender's values have lost in the source.
    private mutating func arrive(from source: RowEvaluation, without lost: Set<String>) -> RowStep {
        guard let life = life(after: source) else {
            return refused("idTaken", "Another row has this id in the destination.")
        }
        let first = row.isAlive ? min(firstLife, source.firstLife) : source.firstLife
        var arrived = MergeRow(generation: life, cells: source.row.cells, counters: source.row.counters)
        var won: Set<String> = []
        if row.isAlive {
            won = arrived.merge(MergeRow(generation: life, cells: row.cells, counters: row.counters)).taken
            arrived.forgetEmptyTotals()
        }
        row = arrived
        taken = Set(row.cells.keys).union(row.counters.keys)
        memory = source.memory.continued(from: first, over: memory)
        return objectionToSize() ?? .merged(life: life, lost: lost.union(won))
    }

    /// The next life of a row that arrives. Nil: another row is alive here.
    ///
    /// A row that is alive here is the same row if a restored server lost its move. A device that sent it again may not
    /// have known its first life. Rows that are both in their first life share only their id.
    private func life(after source: RowEvaluation) -> Int? {
        let (left, here) = (source.row.generation, row.generation)
        guard row.isAlive else { return (max(left, here) + 1) | 1 }
        guard max(left, here) > min(firstLife, source.firstLife) else { return nil }
        return here > left ? here : left + 2
    }

    private mutating func leave(
        for destination: RowEvaluation, in account: String, by home: String?, _ clock: inout ServerClock
    ) {
        let first = firstLife
        clock.witness(row)
        row = MergeRow(generation: row.generation + 1, deletion: clock.tick())
        let target = RowDestination(
            account: account, generation: destination.row.generation,
            clock: home.flatMap { destination.row.cells[$0]?.clock })
        memory = .departed(firstLife: first, movedTo: target)
    }
}

extension RowStep {
    static let behind = Self.refused(.behind)
}

extension SetError {
    /// The device must receive the next page before it sends the row again.
    static let behind = SetError("behind", "The row is elsewhere. Pull, then send it again.")

    /// The row refers to rows that are not in its account: the server has never had them, or has them elsewhere.
    static func blocked(by rows: [RowKey]) -> SetError {
        SetError(
            "blocked", "It refers to a row that the server does not have there yet.",
            blockedBy: Set(rows.map(\.description)).sorted())
    }

    /// Rows that refer to the row would stay behind. The device may not know them yet, or cannot show them. The sender
    /// may read them, because it writes in their account.
    static func leaves(_ rows: [RowKey]) -> SetError {
        SetError(
            "behind", "Rows that refer to the row would stay. Pull, then send the row again together with them.",
            blockedBy: rows.prefix(maxNamed).map(\.description).sorted())
    }

    private static let maxNamed = 10
}

extension RowMemory {
    /// The memory of a row that continues in another account, whose memory so far is `former`.
    func continued(from firstLife: Int, over former: RowMemory) -> RowMemory {
        var memory = RowMemory(firstLife: firstLife, replaced: replaced, unread: unread)
        memory.hasMoved = true
        for (column, givers) in former.replaced {
            memory.replaced[column, default: [:]].merge(givers) { $0.given > $1.given ? $0 : $1 }
        }
        memory.unread.add(former.unread)
        memory.unread.keep(latest: Self.maxUnread)
        return memory
    }

    /// The memory of a row that has moved away.
    static func departed(firstLife: Int, movedTo: RowDestination) -> RowMemory {
        var memory = RowMemory(firstLife: firstLife)
        (memory.hasMoved, memory.movedTo) = (true, movedTo)
        return memory
    }
}
