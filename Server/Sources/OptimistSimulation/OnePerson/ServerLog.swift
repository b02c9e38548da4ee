// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Every version of every row that the server had, in the server's order.
struct ServerLog {
    struct Version {
        let row: ServedRow
        /// The version before, if any.
        let former: ServedRow?
        /// The server's transaction. Positions continue when the server is restored.
        let position: Int64
        /// Whether the server was restored to a copy without this version.
        var isLost = false

        /// Whether a life of the row ended here (M2).
        var endsLife: Bool { row.generation > max(former?.generation ?? 0, 1) }
    }

    private(set) var present: [RowName: Values] = [:]
    private(set) var seq: Int64 = 0
    private(set) var hasGoneBack = false
    private var versions: [RowName: [Version]] = [:]
    /// The position before the first transaction since the last restore.
    private var start: Int64 = 0

    /// Records the rows that the server has stored since the last call, and returns their versions.
    mutating func serve(_ rows: [ServedRow]) -> [Version] { rows.compactMap { append($0) } }

    mutating func goBack(to rows: [ServedRow]) {
        let last = rows.map(\.seq).max() ?? 0
        versions = versions.mapValues { versions in
            versions.map { version in
                var version = version
                if version.row.seq > last { version.isLost = true }
                return version
            }
        }
        (hasGoneBack, start, seq, present) = (true, start + seq, 0, [:])
        _ = serve(rows)
    }

    private mutating func append(_ row: ServedRow) -> Version? {
        present[row.name] = row.values
        seq = max(seq, row.seq)
        let former = versions[row.name]?.last { !$0.isLost }?.row
        if former?.seq == row.seq { return nil }
        let version = Version(row: row, former: former, position: start + row.seq)
        versions[row.name, default: []].append(version)
        return version
    }

    // MARK: - Questions

    /// The position of a transaction that a device knows. After a restore, its number may belong to a lost order.
    func position(_ seq: Int64) -> Int64 { hasGoneBack ? 0 : seq }

    func versions(of row: RowName, after position: Int64 = 0) -> [Version] {
        versions[row, default: []].filter { $0.position > position }
    }

    func version(of row: RowName, at position: Int64) -> Version? {
        versions[row]?.last { $0.position <= position && !$0.isLost }
    }

    /// Every value that a column had. With a clock, only the values that it had under that clock.
    func values(of column: String, in row: RowName, under clock: String? = nil) -> Set<String?> {
        let versions = versions(of: row).filter { clock == nil || $0.row.clocks?[column]?.description == clock }
        return Set(versions.compactMap { $0.row.values?[column] })
    }

    func had(_ cell: Cell) -> Bool { values(of: cell.column, in: cell.row).contains(cell.value) }

    /// A row and all rows that were merged with it.
    func merged(with row: RowName) -> Set<RowName> {
        var (all, next): (Set<RowName>, [RowName]) = ([row], [row])
        while let one = next.popLast() {
            let winners = versions(of: one).compactMap(\.row.mergedInto)
            let losers = versions.keys.filter { versions(of: $0).contains { $0.row.mergedInto == one } }
            next += (winners + losers).filter { all.insert($0).inserted }
        }
        return all
    }
}

extension ServerLog.Version {
    var changed: [Cell] {
        (row.values ?? [:]).filter { column, value in
            former?.values?[column] != .some(value) || former?.clocks?[column] != row.clocks?[column]
        }.map { Cell(row: row.name, column: $0.key, value: $0.value) }
    }
}
