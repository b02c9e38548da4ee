// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A row as the server keeps it: its merge state, and its place in the account's order.
public struct StoredRow: Sendable {
    /// The row as merging sees it.
    public var row: MergeRow
    /// What only the server remembers of it.
    public var memory: RowMemory
    /// The transaction that changed it last.
    public var seq: Int64
    /// Its number within that transaction.
    public var ordinal: Int
    /// The transaction in which its present life began, or the last one if it is deleted.
    public var bornSeq: Int64

    /// Makes a row from its parts.
    public init(row: MergeRow, memory: RowMemory = RowMemory(), seq: Int64, ordinal: Int, bornSeq: Int64) {
        self.row = row
        self.memory = memory
        self.seq = seq
        self.ordinal = ordinal
        self.bornSeq = bornSeq
    }

    /// Makes the row that a change leaves at a place.
    public init(_ change: RowChange, seq: Int64, ordinal: Int) {
        self.init(
            row: change.row, memory: change.memory, seq: seq, ordinal: ordinal, bornSeq: change.bornSeq ?? seq)
    }

    /// Where the row stands in the account's order.
    public var place: LogPosition { LogPosition(seq: seq, ordinal: ordinal) }

    /// The row as a patch that carries all of it.
    ///
    /// - Parameter origins: Whose totals of counters to tell.
    func patch(for origins: Set<String> = []) -> RowPatch { row.patch(for: origins, seq: seq) }
}

/// What only the server remembers of a row.
public struct RowMemory: Hashable, Sendable {
    /// The id of the row that this one, now deleted, was merged into. Nil: none.
    public var mergedInto: String?
    /// The life of that row at that moment. Nil: unknown.
    public var mergedLife: Int?
    /// The first of the lives that edits have joined into one. Nil: the row's present or last life, or a deleted row
    /// that was never alive here.
    public var firstLife: Int?
    /// The clocks that ran ahead and were replaced: by column, then by the device that gave them.
    public var replaced: [String: [String: ReplacedClock]]

    /// Makes a memory, by default an empty one.
    public init(
        mergedInto: String? = nil, mergedLife: Int? = nil, firstLife: Int? = nil,
        replaced: [String: [String: ReplacedClock]] = [:]
    ) {
        self.mergedInto = mergedInto
        self.mergedLife = mergedLife
        self.firstLife = firstLife
        self.replaced = replaced
    }
}

/// A clock that ran ahead, and the one that replaced it. The server knows a repetition of the write by it.
public struct ReplacedClock: Hashable, Sendable {
    /// The clock that the device gave.
    public var given: Clock
    /// The clock that the server put in its place.
    public var stamp: Clock
}

extension MergeRow {
    /// All columns, counters as their sum.
    func patch(for origins: Set<String> = [], seq: Int64? = nil) -> RowPatch {
        patch(of: Set(cells.keys).union(counters.keys), for: origins, seq: seq)
    }

    /// Some columns. Counters come as their sum, with the clock of its latest part and with what the origins have of it.
    func patch(of columns: Set<String>, for origins: Set<String>, seq: Int64? = nil) -> RowPatch {
        var values: [JSONObject.Member] = []
        var clocks: [String: Clock] = [:]
        var counted: [String: Clock] = [:]
        var mine: [String: [String: Int64]] = [:]
        values.reserveCapacity(columns.count)
        for column in columns.sorted() {
            if let totals = counters[column] {
                values.append((column, .int(sum(of: column))))
                counted[column] = totals.values.map(\.clock).max()
                let asked = totals.filter { origins.contains($0.key) }.mapValues(\.total)
                if !asked.isEmpty { mine[column] = asked }
            } else if let cell = cells[column] {
                values.append((column, cell.value))
                clocks[column] = cell.clock
            }
        }
        return RowPatch(
            generation: generation, clocks: Self.packed(clocks, counted), seq: seq, values: JSONObject(values),
            mine: mine)
    }

    /// The common clock is one of the columns', and never of a counter alone. Nil for none.
    private static func packed(_ clocks: [String: Clock], _ counted: [String: Clock]) -> ColumnClocks? {
        guard let first = clocks.values.first ?? counted.values.first else { return nil }
        if clocks.isEmpty { return ColumnClocks(exceptions: counted) }
        let isOne = clocks.values.allSatisfy { $0 == first }
        var packed = isOne ? ColumnClocks(common: first) : ColumnClocks(packing: clocks)
        for (column, clock) in counted where clock != packed.common { packed.exceptions[column] = clock }
        return packed
    }
}
