// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What may rightly have become of rows whose end nobody asked for: they went with a parent, or became one with another row
/// of the same name.
struct Fates {
    /// The rows that may be gone.
    let mortal: Set<RowName>
    private let union: [RowName: RowName]
    private let owners: [RowName: Set<RowName>]

    init(_ history: History) {
        let union = Self.namesakes(history)
        let counts = union.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let merged = union.filter { counts[$0.value] ?? 1 > 1 }.keys
        var mortal = Set(history.writes.flatMap(\.deleted)).union(merged)
        let owners = Self.owners(history)
        var hasGrown = true
        while hasGrown {
            let more = owners.filter { !mortal.contains($0.key) && !$0.value.isDisjoint(with: mortal) }.keys
            mortal.formUnion(more)
            hasGrown = !more.isEmpty
        }
        self.mortal = mortal
        self.union = union
        self.owners = owners
    }

    /// Whether a row has ever belonged to one that may be gone, so that it may have gone with that.
    func hasMortalOwner(_ row: RowName) -> Bool { owners[row]?.isDisjoint(with: mortal) == false }

    /// Whether two rows may have become one.
    func mayBeOne(_ a: RowName, _ b: RowName) -> Bool { union[a] != nil && union[a] == union[b] }

    /// The rows that may have become one with a row, and itself.
    func namesakes(of row: RowName) -> Set<RowName> {
        guard let name = union[row] else { return [row] }
        return Set(union.filter { $0.value == name }.keys)
    }

    /// A name for each set of rows that have had a name in common.
    private static func namesakes(_ history: History) -> [RowName: RowName] {
        var union: [RowName: RowName] = [:]
        var first: [String: RowName] = [:]
        func root(_ row: RowName) -> RowName {
            var row = row
            while let next = union[row], next != row { row = next }
            return row
        }
        for write in history.writes {
            for (row, values) in write.cells.sorted(by: { $0.key < $1.key }) {
                for (column, value) in values where Tables.column(column, of: row.table)?.kind == .uniqueName {
                    if union[row] == nil { union[row] = row }
                    guard let value else { continue }
                    if let other = first[value] { union[root(row)] = root(other) } else { first[value] = row }
                }
            }
        }
        return Dictionary(uniqueKeysWithValues: union.keys.map { ($0, root($0)) })
    }

    /// The rows that a row has ever belonged to, so that it goes with them.
    private static func owners(_ history: History) -> [RowName: Set<RowName>] {
        var owners: [RowName: Set<RowName>] = [:]
        for write in history.writes {
            for (row, values) in write.cells {
                for (column, value) in values {
                    guard let owner = Tables.target(of: value, in: column, of: row.table, on: .cascade) else {
                        continue
                    }
                    owners[row, default: []].insert(owner)
                }
            }
        }
        return owners
    }
}
