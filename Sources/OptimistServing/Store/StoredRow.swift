// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A row as the server keeps it: its merge state, and its position in the account's order.
@_spi(Internals) public struct StoredRow: Sendable {
    /// The row as merging sees it.
    public var row: MergeRow
    /// What only the server remembers about the row.
    public var memory: RowMemory
    /// The transaction that changed it last.
    public var seq: Int64
    /// The row's number within that transaction.
    public var ordinal: Int
    /// The transaction in which the row's current life began, or its last life if the row is deleted.
    public var bornSeq: Int64

    /// Makes a row from its parts.
    public init(row: MergeRow, memory: RowMemory = RowMemory(), seq: Int64, ordinal: Int, bornSeq: Int64) {
        self.row = row
        self.memory = memory
        self.seq = seq
        self.ordinal = ordinal
        self.bornSeq = bornSeq
    }

    /// Makes the row that a change leaves at a position.
    public init(_ change: RowChange, seq: Int64, ordinal: Int) {
        self.init(
            row: change.row, memory: change.memory, seq: seq, ordinal: ordinal, bornSeq: change.bornSeq ?? seq)
    }

    /// The row's position in the account's order.
    public var place: LogPosition { LogPosition(seq: seq, ordinal: ordinal) }

    /// The whole row as a patch.
    ///
    /// - Parameter origins: The origins whose totals of counters the patch includes.
    func patch(for origins: Set<String> = []) -> RowPatch {
        var patch = row.patch(for: origins, seq: seq)
        patch.unread = memory.unread
        return patch
    }
}

/// What only the server remembers about a row.
@_spi(Internals) public struct RowMemory: Hashable, Sendable {
    /// The id of the row that this row, now deleted, was merged into. Nil: none.
    public var mergedInto: String?
    /// The life of that other row at the merge. Nil: unknown.
    public var mergedLife: Int?
    /// The first of the lives that edits have joined into one. Nil: it is the row's current or last life, or the row is
    /// deleted and was never alive here.
    public var firstLife: Int?
    /// The clocks that ran ahead and were replaced: by column, then by the device that gave them.
    public var replaced: [String: [String: ReplacedClock]]
    /// The values that a device replaced, or ended with a life of the row, without having read them.
    public var unread: UnreadClocks

    /// Makes a memory, by default an empty one.
    public init(
        mergedInto: String? = nil, mergedLife: Int? = nil, firstLife: Int? = nil,
        replaced: [String: [String: ReplacedClock]] = [:], unread: UnreadClocks = UnreadClocks()
    ) {
        self.mergedInto = mergedInto
        self.mergedLife = mergedLife
        self.firstLife = firstLife
        self.replaced = replaced
        self.unread = unread
    }
}

/// A clock that ran ahead, and the clock that replaced it. With it the server recognises a repetition of the write.
@_spi(Internals) public struct ReplacedClock: Hashable, Sendable {
    /// The clock that the device gave.
    public var given: WriteClock
    /// The clock that the server put in its place.
    public var stamp: WriteClock
}

extension MergeRow {
    /// A patch of all columns. Counters come as their sum.
    func patch(for origins: Set<String> = [], seq: Int64? = nil) -> RowPatch {
        patch(of: Set(cells.keys).union(counters.keys), for: origins, seq: seq)
    }

    /// A patch of some columns. Counters come as their sum, with the latest clock of its totals and with the totals of
    /// the given origins.
    func patch(of columns: Set<String>, for origins: Set<String>, seq: Int64? = nil) -> RowPatch {
        var values: [JSONObject.Member] = []
        var clocks: [String: WriteClock] = [:]
        var counted: [String: WriteClock] = [:]
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

    /// Packs the clocks. The common clock is that of a column, never of a counter alone: if only counters have clocks,
    /// all of them are exceptions. Nil: there are no clocks.
    private static func packed(_ clocks: [String: WriteClock], _ counted: [String: WriteClock]) -> ColumnClocks? {
        guard let first = clocks.values.first ?? counted.values.first else { return nil }
        if clocks.isEmpty { return ColumnClocks(exceptions: counted) }
        let isOne = clocks.values.allSatisfy { $0 == first }
        var packed = isOne ? ColumnClocks(common: first) : ColumnClocks(packing: clocks)
        for (column, clock) in counted where clock != packed.common { packed.exceptions[column] = clock }
        return packed
    }
}
