// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Finds cycles of rows in a group that is too large to be sent as a unit. Sent one by one, these rows would wait for
/// each other forever (S2).
struct UnsentCycles {
    private let entries: RowEntryTable
    private let tables: AppTables
    private let circular: Set<Int64>

    /// How many more rows are examined. This limits how far chains are followed.
    private static let reach = 4 * UnitScan.maxRows

    init(_ entries: RowEntryTable, _ layouts: [TableLayout]) {
        self.entries = entries
        tables = AppTables(layouts, entries.db)
        let places = Dictionary(zip(layouts.map(\.name), 0...), uniquingKeysWith: { first, _ in first })
        let needs = layouts.map { layout in layout.parents.compactMap { places[$0] } }
        let cycles = Cycles.inOrder(needs: needs).filter { $0.count > 1 || needs[$0[0]].contains($0[0]) }
        circular = Set(cycles.joined().map { layouts[$0].number })
    }

    /// Makes a unit of each row, or of its cycle, including rows of the cycle that are not among `rows`.
    func units(of rows: [RowEntry], in groups: [Int64]) throws -> [[RowEntry]] {
        guard rows.contains(where: { circular.contains($0.ref.table) }) else { return rows.map { [$0] } }
        let groups = Set(groups)
        var found = rows
        var places = Dictionary(zip(rows.map(\.ref), 0...), uniquingKeysWith: { first, _ in first })
        var needs: [[Int]] = []
        while needs.count < found.count {
            var needed: [Int] = []
            for owner in try owners(of: found[needs.count]) {
                if places[owner] == nil, found.count < rows.count + Self.reach, let entry = try entries.entry(owner),
                    entry.isToBegin,
                    let group = entry.local?.group, groups.contains(group.rawValue)
                {
                    places[owner] = found.count
                    found.append(entry)
                }
                if let place = places[owner], found[place].isToBegin { needed.append(place) }
            }
            needs.append(needed)
        }
        var cycles = [Int: [Int]]()
        for cycle in Cycles.inOrder(needs: needs) where cycle.count <= UnitScan.maxRows {
            for place in cycle { cycles[place] = cycle }
        }
        var units: [[RowEntry]] = []
        for place in rows.indices {
            guard let cycle = cycles[place] else {
                units.append([rows[place]])
                continue
            }
            if cycle.min() == place { units.append(cycle.map { found[$0] }) }
        }
        return units
    }

    private func owners(of entry: RowEntry) throws -> [RowRef] {
        guard circular.contains(entry.ref.table), let table = tables[entry.ref.table],
            let values = try table.values(entry.ref.id)
        else { return [] }
        return table.layout.columns.compactMap { tables.owner(by: $0, values[$0.name]) }
            .filter { circular.contains($0.table) }
    }
}
