// This source file is part of the Optimist open source project, under the MIT licence.

/// A column's value and the clock of its last write.
public struct Cell: Hashable, Sendable {
    /// The value. Null is a value like any other.
    public var value: JSON
    /// The clock of the write that set ``value``.
    public var clock: WriteClock

    /// Makes a cell from its parts.
    public init(_ value: JSON, _ clock: WriteClock) {
        self.value = value
        self.clock = clock
    }

    /// Whether this cell replaces another cell of the same column: the later clock wins, then the larger bytes.
    func wins(over other: Cell) -> Bool {
        if clock != other.clock { return clock > other.clock }
        return other.value.canonicalBytes.lexicographicallyPrecedes(value.canonicalBytes)
    }
}

/// The state of a row for merging: its generation, and its columns with their clocks.
///
/// Merging is a join: commutative, associative and idempotent. In whatever order and however often versions arrive, all
/// devices and the server converge to the same row.
public struct MergeRow: Hashable, Sendable {
    /// The generation. Odd: the row is alive. Even: it is deleted. Zero: it was never seen.
    public var generation: Int
    /// The columns of this generation, by name. A deleted row keeps the columns of its last life, hidden from users.
    public var cells: [String: Cell]
    /// The clock of the delete. Nil while the row is alive.
    public var deletion: WriteClock?
    /// The counters of this generation: for each column, each origin's running total by device id.
    public var counters: [String: [String: CounterTotal]]

    /// Makes a row from its parts. By default, a row that was never seen.
    public init(
        generation: Int = 0, cells: [String: Cell] = [:], deletion: WriteClock? = nil,
        counters: [String: [String: CounterTotal]] = [:]
    ) {
        self.generation = generation
        self.cells = cells
        self.deletion = deletion
        self.counters = counters
    }

    /// Whether the row exists for the app: its generation is odd.
    public var isAlive: Bool { generation % 2 == 1 }

    /// The changes that a merge made and the columns it refused.
    public struct Outcome: Hashable, Sendable {
        package var lifeChanged = false
        /// The columns that took the incoming value or clock.
        public var taken: Set<String> = []
        /// The incoming columns that lost to a different, newer value.
        public var refused: Set<String> = []

        /// Whether the merge changed the row.
        public var changedAnything: Bool { lifeChanged || !taken.isEmpty }
    }

    /// Merges another version of the same row into this one.
    ///
    /// A higher generation wins. Within a generation, each column takes the later clock; if the clocks' stamps are
    /// equal, the higher device id, then the larger bytes. Equal values do not conflict. A counter merges each origin's
    /// total by the same rule.
    ///
    /// > Source: Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free Replicated Data Types", SSS 2011 (a map of
    /// > last-writer-wins registers); the generation is the causal length of Yu and Rostad, "A Low-Cost Set CRDT Based
    /// > on Causal Lengths", PaPoC 2020.
    @discardableResult
    public mutating func merge(_ other: MergeRow) -> Outcome {
        if other.generation > generation { return begin(other) }
        if other.generation == generation || isEndOfLife(other.generation) { return mergeColumns(other) }
        return Outcome(refused: isAlive ? Set(other.cells.keys).union(other.counters.keys) : [])
    }

    private func isEndOfLife(_ life: Int) -> Bool { !isAlive && life == generation - 1 }

    private mutating func begin(_ other: MergeRow) -> Outcome {
        let former = self
        self = other
        if !isAlive, former.generation == generation - 1 {
            _ = mergeCells(former.cells)
            _ = mergeCounters(former.counters)
        }
        return Outcome(lifeChanged: true, taken: isAlive ? Set(cells.keys).union(counters.keys) : [])
    }

    private mutating func mergeColumns(_ other: MergeRow) -> Outcome {
        var outcome = mergeCells(other.cells)
        let counted = mergeCounters(other.counters)
        outcome.taken.formUnion(counted.taken)
        outcome.refused.formUnion(counted.refused)
        if let theirs = other.deletion { deletion = max(deletion ?? theirs, theirs) }
        return isAlive ? outcome : Outcome()
    }

    private mutating func mergeCells(_ others: [String: Cell]) -> Outcome {
        var outcome = Outcome()
        for (column, cell) in others {
            guard let mine = cells[column] else {
                cells[column] = cell
                outcome.taken.insert(column)
                continue
            }
            if cell.wins(over: mine) {
                cells[column] = cell
                outcome.taken.insert(column)
            } else if cell.value != mine.value {
                outcome.refused.insert(column)
            }
        }
        return outcome
    }

    private mutating func mergeCounters(_ others: [String: [String: CounterTotal]]) -> Outcome {
        var outcome = Outcome()
        for (column, totals) in others {
            for (origin, total) in totals {
                let mine = counters[column]?[origin]
                if mine.map(total.wins(over:)) ?? true {
                    counters[column, default: [:]][origin] = total
                    outcome.taken.insert(column)
                } else if total.total != mine?.total {
                    outcome.refused.insert(column)
                }
            }
        }
        return outcome
    }
}
