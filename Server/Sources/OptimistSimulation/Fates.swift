// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The ways a row may disappear without a user's deletion: a cascade, or a merge with a row of the same name.
struct Fates {
    /// The rows that may be gone.
    let mortal: Set<RowName>
    /// The mortal rows that a cascade may have deleted.
    private let orphans: Set<RowName>
    private let union: [RowName: RowName]
    private let owners: [RowName: Set<RowName>]

    init(_ history: History) {
        let union = Self.namesakes(history)
        let counts = union.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let merged = union.filter { counts[$0.value] ?? 1 > 1 }.keys
        let owners = Self.owners(history)
        mortal = Self.family(of: Set(history.writes.flatMap(\.deleted)).union(merged), owners)
        orphans = Self.family(of: Self.bereaved(history), owners)
        self.union = union
        self.owners = owners
    }

    /// Whether any owner the row ever had may be gone.
    func hasMortalOwner(_ row: RowName) -> Bool { owners[row]?.isDisjoint(with: mortal) == false }

    func isOrphan(_ row: RowName) -> Bool { orphans.contains(row) }

    func hasOwner(_ row: RowName, where isSuch: (RowName) -> Bool) -> Bool {
        owners[row]?.contains(where: isSuch) == true
    }

    func mayBeOne(_ a: RowName, _ b: RowName) -> Bool { union[a] != nil && union[a] == union[b] }

    /// Returns a row and all that may have merged with it.
    func namesakes(of row: RowName) -> Set<RowName> {
        guard let name = union[row] else { return [row] }
        return Set(union.filter { $0.value == name }.keys)
    }

    /// Maps each row to the representative of the rows with which it has shared names, directly or indirectly.
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

    /// Returns the rows and their descendants, by every owner they ever had.
    private static func family(of rows: Set<RowName>, _ owners: [RowName: Set<RowName>]) -> Set<RowName> {
        var family = rows
        var hasGrown = true
        while hasGrown {
            let more = owners.filter { !family.contains($0.key) && !$0.value.isDisjoint(with: family) }.keys
            family.formUnion(more)
            hasGrown = !more.isEmpty
        }
        return family
    }

    /// Returns the rows that were put under an owner that a device has deleted.
    private static func bereaved(_ history: History) -> Set<RowName> {
        var bereaved: Set<RowName> = []
        for (number, write) in history.writes.enumerated() {
            for (row, values) in write.cells where !bereaved.contains(row) {
                let owners = values.compactMap { column, value in
                    Tables.target(of: value, in: column, of: row.table, on: .cascade)
                }
                if owners.contains(where: { mayEnd($0, referredToBy: number, history) }) { bereaved.insert(row) }
            }
        }
        return bereaved
    }

    /// Whether a deletion may have ended the owner that a write refers to.
    ///
    /// An earlier deletion by the same device concerns an earlier life of the owner, unless the device was restored.
    private static func mayEnd(_ owner: RowName, referredToBy number: Int, _ history: History) -> Bool {
        let write = history.writes[number]
        return history.writes(of: owner).contains { other in
            guard other.write.deleted.contains(owner) || other.write.shortLived.contains(owner) else { return false }
            return other.write.isApart(from: write) || other.number >= number || history.restored.contains(write.device)
        }
    }

    /// By every reference with a cascade that a row ever had.
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
