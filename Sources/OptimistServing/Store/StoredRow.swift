// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A row as the server stores it: its merge state, and its position in the account's order.
@_spi(Internals) public struct StoredRow: Sendable {
    public var row: MergeRow
    public var memory: RowMemory
    /// The transaction that last changed the row.
    public var seq: Int64
    public var ordinal: Int
    /// The transaction that began the row's current life, or its last life if the row is deleted.
    public var bornSeq: Int64

    public init(row: MergeRow, memory: RowMemory = RowMemory(), seq: Int64, ordinal: Int, bornSeq: Int64) {
        self.row = row
        self.memory = memory
        self.seq = seq
        self.ordinal = ordinal
        self.bornSeq = bornSeq
    }

    public init(_ change: RowChange, seq: Int64, ordinal: Int) {
        self.init(
            row: change.row, memory: change.memory, seq: seq, ordinal: ordinal, bornSeq: change.bornSeq ?? seq)
    }

    public var place: LogPosition { LogPosition(seq: seq, ordinal: ordinal) }

    /// The complete row as a patch.
    ///
    /// - Parameter origins: The origins whose counter totals the patch includes.
    func patch(for origins: Set<String> = []) -> RowPatch {
        var patch = row.patch(for: origins, seq: seq)
        (patch.unread, patch.firstLife) = (memory.unread, memory.toldFirstLife)
        return patch
    }
}

/// Data about a row that only the server keeps.
@_spi(Internals) public struct RowMemory: Hashable, Sendable {
    /// The id of the row that this deleted row was merged into.
    public var mergedInto: String?
    /// The life of the row ``mergedInto`` at the time of the merge. Nil: unknown.
    public var mergedLife: Int?
    /// The earliest life that edits or moves have joined to the current or last life. Nil: they have not joined lives,
    /// or the server knows only that the row was deleted.
    public var firstLife: Int? { didSet { if firstLife == nil { hasMoved = false } } }
    /// Whether the lives since ``firstLife`` were in several accounts. Devices then learn the first.
    public var hasMoved = false
    /// Where this deleted row has moved to. Nil: it has not moved.
    public var movedTo: RowDestination?
    /// The clocks that ran ahead, with their replacements. The keys are the column, then the device that gave the
    /// clock.
    public var replaced: [String: [String: ReplacedClock]]
    /// Values that a device overwrote, or deleted with the row, without having read them.
    public var unread: UnreadClocks
    /// For a member row: the person whose row it is. For an invitation: the person who invites. Never on the wire.
    public var person: String?
    /// The sender of the last change. Nil: the person whose account it is. Never on the wire.
    public var writer: Writer?

    public init(
        mergedInto: String? = nil, mergedLife: Int? = nil, firstLife: Int? = nil,
        replaced: [String: [String: ReplacedClock]] = [:], unread: UnreadClocks = UnreadClocks(),
        person: String? = nil
    ) {
        self.mergedInto = mergedInto
        self.mergedLife = mergedLife
        self.firstLife = firstLife
        self.replaced = replaced
        self.unread = unread
        self.person = person
    }

    var toldFirstLife: Int? { hasMoved ? firstLife : nil }
}

/// A clock that ran ahead, and its replacement. The server uses both to recognise a repeated write.
@_spi(Internals) public struct ReplacedClock: Hashable, Sendable {
    /// The device's clock.
    public var given: WriteClock
    /// The server's replacement.
    public var stamp: WriteClock
}

extension MergeRow {
    func patch(for origins: Set<String> = [], seq: Int64? = nil) -> RowPatch {
        patch(of: Set(cells.keys).union(counters.keys), for: origins, seq: seq)
    }

    /// A patch of some columns. A counter appears as its sum, with the latest clock among its totals, and with the
    /// totals of the given origins.
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

    /// Packs the clocks, or returns nil if there are none. Only a plain column's clock becomes the common clock: if
    /// only counters have clocks, all these clocks are exceptions.
    private static func packed(_ clocks: [String: WriteClock], _ counted: [String: WriteClock]) -> ColumnClocks? {
        guard let first = clocks.values.first ?? counted.values.first else { return nil }
        if clocks.isEmpty { return ColumnClocks(exceptions: counted) }
        let isOne = clocks.values.allSatisfy { $0 == first }
        var packed = isOne ? ColumnClocks(common: first) : ColumnClocks(packing: clocks)
        for (column, clock) in counted where clock != packed.common { packed.exceptions[column] = clock }
        return packed
    }
}
