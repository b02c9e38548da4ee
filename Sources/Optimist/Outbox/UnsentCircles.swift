// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Finds rows of a group that is too large to go whole which refer to each other in a circle. One by one the server would take
/// none of them: each would wait for the other (S2).
struct UnsentCircles {
    private let entries: RowEntryTable
    private let tables: AppTables
    /// The tables whose rows may refer to each other in a circle.
    private let circular: Set<Int64>

    /// How many more rows are looked at, which bounds how long chains are followed.
    private static let reach = 4 * UnitScan.maxRows

    init(_ entries: RowEntryTable, _ layouts: [TableLayout]) {
        self.entries = entries
        tables = AppTables(layouts, entries.db)
        let places = Dictionary(zip(layouts.map(\.name), 0...), uniquingKeysWith: { first, _ in first })
        let needs = layouts.map { layout in layout.parents.compactMap { places[$0] } }
        let circles = Circles.inOrder(needs: needs).filter { $0.count > 1 || needs[$0[0]].contains($0[0]) }
        circular = Set(circles.joined().map { layouts[$0].number })
    }

    /// Makes units of some rows: each row one, but those of a circle together, with what else belongs to that.
    ///
    /// - Parameter groups: Those that the rows belong to.
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
                    let group = entry.pending, groups.contains(group.rawValue)
                {
                    places[owner] = found.count
                    found.append(entry)
                }
                if let place = places[owner], found[place].isToBegin { needed.append(place) }
            }
            needs.append(needed)
        }
        var circles = [Int: [Int]]()
        for circle in Circles.inOrder(needs: needs) where circle.count <= UnitScan.maxRows {
            for place in circle { circles[place] = circle }
        }
        var units: [[RowEntry]] = []
        for place in rows.indices {
            guard let circle = circles[place] else {
                units.append([rows[place]])
                continue
            }
            // The first of its rows stands for it.
            if circle.min() == place { units.append(circle.map { found[$0] }) }
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
