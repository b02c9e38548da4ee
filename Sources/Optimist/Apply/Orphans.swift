// This source file is part of the Optimist open source project, under the MIT licence.

/// The rows of a page whose parents are missing, and the rows below them. Pure.
struct Orphans {
    private var rows: [(row: RowRef, parents: [RowRef])] = []
    /// The missing parent of each orphan. If several are missing, the first in the order of the orphan's columns.
    private(set) var missing: [RowRef: RowRef] = [:]

    mutating func add(_ row: RowRef, below parents: [RowRef]) { rows.append((row, parents)) }

    /// Call this while all rows of the page are in the tables.
    mutating func find(_ isHere: (RowRef) throws -> Bool) rethrows {
        for (row, parents) in rows { missing[row] = try parents.first { try !isHere($0) } }
    }

    /// Adds the rows below orphans, after the rollback. If the app's table still has an orphan, the rows below that
    /// orphan have their parent and are not added.
    mutating func addRowsBelow(_ isHere: (RowRef) throws -> Bool) rethrows {
        var children: [RowRef: [RowRef]] = [:]
        for (row, parents) in rows { for parent in parents { children[parent, default: []].append(row) } }
        var next = rows.map(\.row).filter { missing[$0] != nil }
        while let parent = next.popLast() {
            guard let below = children[parent], try !isHere(parent) else { continue }
            for row in below where missing[row] == nil {
                missing[row] = parent
                next.append(row)
            }
        }
    }
}
