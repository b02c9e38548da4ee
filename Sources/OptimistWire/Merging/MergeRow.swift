// This source file is part of the Optimist open source project, under the MIT licence.

/// A column's value and the clock of its last write.
public struct Cell: Hashable, Sendable {
    /// The value that was written. Null is a value like any other.
    public var value: JSON
    /// The clock of the write that set ``value``.
    public var clock: WriteClock

    /// Makes a cell from its parts.
    public init(_ value: JSON, _ clock: WriteClock) {
        self.value = value
        self.clock = clock
    }

    /// Whether this cell stands against another one of the same column: later clock, then larger bytes.
    func wins(over other: Cell) -> Bool {
        if clock != other.clock { return clock > other.clock }
        return other.value.canonicalBytes.lexicographicallyPrecedes(value.canonicalBytes)
    }
}

/// A row as merging sees it: which life it is in, and its columns with their clocks.
///
/// Merging is a join: commutative, associative and idempotent. Whatever order the versions of a row arrive in, and however
/// often, every device and the server end with the same row.
public struct MergeRow: Hashable, Sendable {
    /// Which life the row is in. Odd: alive. Even: deleted. Zero: the row was never heard of.
    public var generation: Int
    /// The columns of this life, by name. A deleted row keeps the columns of the life that ended, which no user sees.
    public var cells: [String: Cell]
    /// The clock of the delete. Nil while the row is alive.
    public var deletion: WriteClock?
    /// The counters of this life: by column, the running total of every origin, by its device id.
    public var counters: [String: [String: CounterTotal]]

    /// Makes a row from its parts. Without arguments it is a row that was never heard of.
    public init(
        generation: Int = 0, cells: [String: Cell] = [:], deletion: WriteClock? = nil,
        counters: [String: [String: CounterTotal]] = [:]
    ) {
        self.generation = generation
        self.cells = cells
        self.deletion = deletion
        self.counters = counters
    }

    /// Whether the row exists for an app: its generation is odd.
    public var isAlive: Bool { generation % 2 == 1 }

    /// What merging changed, and what it refused.
    public struct Outcome: Hashable, Sendable {
        /// Whether the row entered another life.
        package var lifeChanged = false
        /// The columns whose value or clock is now the incoming one.
        public var taken: Set<String> = []
        /// The incoming columns that lost against a different, newer value.
        public var refused: Set<String> = []

        /// Whether the row differs from what it was before the merge.
        public var changedAnything: Bool { lifeChanged || !taken.isEmpty }
    }

    /// Merges another version of the same row into this one.
    ///
    /// A higher generation wins. Within one life each column goes to the later clock; equal clocks to the higher
    /// device id, then to the larger bytes. An equal value is no conflict. A counter merges each origin's total in the same
    /// way, and shows their sum.
    ///
    /// > Source: Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free Replicated Data Types", SSS 2011
    /// > (a map of last-writer-wins registers); the generation is the causal length of Yu and Rostad,
    /// > "A Low-Cost Set CRDT Based on Causal Lengths", PaPoC 2020.
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
