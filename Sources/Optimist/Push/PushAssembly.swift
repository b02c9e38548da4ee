// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Collects the rows of a push. Pure.
struct PushAssembly {
    struct Unsent {
        let entry: RowEntry
        let values: JSONObject
        let layout: TableLayout
        /// Where the row belongs.
        var scope = Scope(number: Scope.personal)
        /// Set if the row moves: where the server has it.
        var source: Scope?
        /// Values of columns that only newer apps know. A new life carries them too (L1).
        var unknown = RowPatch()
    }

    /// The size limit of a group that is sent as a unit (S2). An estimate, in bytes of values.
    static let maxGroupBytes = 5_000_000

    let device: String
    private(set) var rows: [RemotePush.Row] = []
    private(set) var sent: [SentRow] = []
    private(set) var groups: [Range<Int>] = []
    private let limit: PushLimit
    private var bytes = 0
    private var scopes: Set<Int64> = []

    init(device: String, limit: PushLimit) {
        self.device = device
        self.limit = limit
    }

    /// Adds all rows of a unit or none. Returns whether the unit was added. The first unit always fits.
    ///
    /// A unit larger than ``maxGroupBytes``, or with rows of too many accounts for one push, is sent in parts: owners
    /// first, each cycle as a whole. The unit's deletions wait until all its living rows are sent. Until then, the unit
    /// does not count as added.
    mutating func add(_ unit: [Unsent]) -> Bool {
        let size = unit.reduce(0) { $0 + Self.size($1) }
        let scopes = Self.scopes(of: unit)
        let isTooMuch = size > Self.maxGroupBytes || scopes.count > RowSync.Limit.accountsInSet
        return isTooMuch && unit.count > 1 ? addSingly(unit) : addTogether(unit, size, scopes)
    }

    private mutating func addTogether(_ unit: [Unsent], _ size: Int, _ scopes: Set<Int64>) -> Bool {
        let scopes = self.scopes.union(scopes)
        guard hasRoom(rows: unit.count, bytes: size, scopes: scopes.count) else { return false }
        self.scopes = scopes
        let start = rows.count
        for unsent in unit { add(unsent) }
        bytes += size
        if rows.count > start + 1 { groups.append(start..<rows.count) }
        return true
    }

    private mutating func addSingly(_ unit: [Unsent]) -> Bool {
        let alive = unit.filter(\.entry.isAlive)
        for part in alive.isEmpty ? unit.reversed().map({ [$0] }) : Self.ownersFirst(alive) {
            guard addTogether(part, part.reduce(0) { $0 + Self.size($1) }, Self.scopes(of: part)) else { return false }
        }
        return alive.count == unit.count || alive.isEmpty
    }

    /// Each cycle forms one part, however large, because the server would refuse its rows one by one.
    private static func ownersFirst(_ unit: [Unsent]) -> [[Unsent]] {
        struct Name: Hashable { let table, id: String }
        let places = Dictionary(
            unit.enumerated().compactMap { place, unsent in
                unsent.layout.idForm.wire(unsent.entry.ref.id).map { (Name(table: unsent.layout.name, id: $0), place) }
            }, uniquingKeysWith: { first, _ in first })
        let needs = unit.map { unsent in
            unsent.layout.columns.compactMap { column -> Int? in
                guard let table = column.reference?.table, let id = unsent.values[column.name]?.string else {
                    return nil
                }
                return places[Name(table: table, id: id)]
            }
        }
        return Cycles.inOrder(needs: needs).map { cycle in cycle.sorted().map { unit[$0] } }
    }

    private func hasRoom(rows count: Int, bytes size: Int, scopes: Int) -> Bool {
        rows.isEmpty
            || (rows.count + count <= limit.rows && bytes + size <= limit.bytes
                && scopes <= RowSync.Limit.accountsInSet)
    }

    private static func scopes(of unit: [Unsent]) -> Set<Int64> {
        unit.reduce(into: []) { scopes, unsent in
            scopes.insert(unsent.scope.number)
            if let source = unsent.source { scopes.insert(source.number) }
        }
    }

    private mutating func add(_ unsent: Unsent) {
        let (entry, values, layout) = (unsent.entry, unsent.values, unsent.layout)
        guard let id = layout.idForm.wire(entry.ref.id) else { return }
        let isPart = entry.isKnownToServer && !entry.isRestored && !entry.wasDeletedUnseen
        let kind: SentRow.Kind =
            !entry.isAlive ? .delete : unsent.source != nil ? .move : isPart ? .update : .create
        let columns = kind == .delete ? [] : layout.columns(in: entry.dirty)
        let totals = entry.pushedTotals(of: columns)
        let patch = JSONObject(
            columns.compactMap { column in
                column.isCounter
                    ? totals[column.name].map { (column.name, $0.json) }
                    : (column.name, values[column.name] ?? .null)
            })
        let deletion = kind == .delete ? entry.deletionClock(device) : nil
        let change: RemotePush.Row.Change =
            if kind == .delete {
                .delete(self.deletion(entry, at: deletion, in: layout))
            } else if let source = unsent.source {
                .move(from: source.space, self.moved(patch, totals, of: unsent, columns), isWhole: !isPart)
            } else if entry.isRestored {
                .create(restored(patch, totals, of: unsent))
            } else {
                change(
                    kind, entry, JSONObject(patch.members + unsent.unknown.values.members), totals,
                    read: kind == .update ? entry.read(columns) : entry.readBeforeEnd(in: layout))
            }
        rows.append(RemotePush.Row(table: layout.name, id: id, change: change, space: unsent.scope.space))
        sent.append(
            SentRow(
                ref: entry.ref, scope: unsent.scope.number, source: unsent.source?.number, kind: kind,
                generation: entry.generation, mask: entry.dirty,
                lifeStamp: entry.lifeStamp, deletion: deletion,
                clocks: Dictionary(
                    uniqueKeysWithValues: layout.columns(in: entry.dirty).map {
                        ($0.name, entry.unsentClock(of: $0.name))
                    }),
                values: patch, totals: totals, sentBefore: entry.sent, restores: entry.isRestored))
    }

    private func deletion(_ entry: RowEntry, at clock: WriteClock?, in layout: TableLayout) -> Tombstone {
        var tombstone = Tombstone(generation: entry.generation, clock: clock)
        tombstone.read = entry.readBeforeEnd(in: layout)
        return tombstone
    }

    private func moved(
        _ values: JSONObject, _ totals: [String: [CounterTotal]], of unsent: Unsent, _ columns: [TableLayout.Column]
    ) -> RowPatch {
        if unsent.entry.isRestored { return restored(values, totals, of: unsent) }
        let all = JSONObject(values.members + unsent.unknown.values.members)
        return patch(unsent.entry, all, totals, read: unsent.entry.read(columns))
    }

    /// A lost row as a new one, with its original clocks. Sums of unknown counters are left out, because they belong to
    /// no single device.
    private func restored(_ values: JSONObject, _ totals: [String: [CounterTotal]], of unsent: Unsent) -> RowPatch {
        let unknown = unsent.unknown.values.members.filter { unsent.unknown.clocks?[$0.key] != nil }
        var clocks: [String: WriteClock] = [:]
        for (name, _) in values {
            clocks[name] = clock(of: name, unsent.entry, totals)
        }
        for (name, _) in unknown { clocks[name] = unsent.unknown.clocks?[name] }
        return RowPatch(
            generation: unsent.entry.generation, clocks: ColumnClocks(packing: clocks),
            values: JSONObject(values.members + unknown))
    }

    private func change(
        _ kind: SentRow.Kind, _ entry: RowEntry, _ values: JSONObject, _ totals: [String: [CounterTotal]],
        read: ColumnClocks
    ) -> RemotePush.Row.Change {
        // A device that creates a row in its first life has not read it.
        let hasRead = kind == .update || entry.generation > 1
        let patch = patch(entry, values, totals, read: hasRead ? read : nil)
        return kind == .create ? .create(patch) : .update(patch)
    }

    private func patch(
        _ entry: RowEntry, _ values: JSONObject, _ totals: [String: [CounterTotal]], read: ColumnClocks?
    ) -> RowPatch {
        let common = WriteClock(stamp: entry.lifeStamp, device: device)
        var clocks = ColumnClocks(common: common)
        for (name, _) in values {
            let clock = clock(of: name, entry, totals)
            if clock != common { clocks.exceptions[name] = clock }
        }
        var patch = RowPatch(generation: entry.generation, clocks: clocks, values: values)
        patch.read = read
        return patch
    }

    private func clock(of column: String, _ entry: RowEntry, _ totals: [String: [CounterTotal]]) -> WriteClock {
        totals[column]?.latestClock ?? entry.unsentClock(of: column).clock(device)
    }

    private static func size(_ unsent: Unsent) -> Int {
        let layout = unsent.layout
        return layout.columns(in: unsent.entry.dirty).reduce(120) {
            $0 + $1.name.utf8.count + size(unsent.values[$1.name] ?? .null) + (unsent.entry.counters[$1.bit]?.size ?? 0)
        }
    }

    private static func size(_ value: JSON) -> Int {
        switch value {
        case .string(let text): text.utf8.count + 4
        case .array, .object: value.bytes.count
        default: 12
        }
    }
}
