// This source file is part of the Optimist open source project, under the MIT licence.

/// The rows of one account in memory, with their order.
struct InMemoryAccount: Sendable {
    var seq: Int64 = 0
    /// The highest push number of each device.
    var pushes: [String: Int64] = [:]
    /// Where the account stood when an epoch began, for those in which it changed.
    var epochs: [String: Int64] = [:]
    private(set) var rows: [String: [String: StoredRow]] = [:]
    /// The places at which rows stand, by type and in order, among some that rows have left.
    private var order: [String: [(place: Place, id: String)]] = [:]

    /// Stores a row at its place, which is later than all others.
    ///
    /// - Returns: What was there before.
    mutating func put(_ row: StoredRow, at key: RowKey) -> StoredRow? {
        order[key.type, default: []].append((row.place, key.id))
        return rows[key.type, default: [:]].updateValue(row, forKey: key.id)
    }

    /// Undoes the latest `put`.
    mutating func takeBack(_ key: RowKey, former: StoredRow?) {
        order[key.type]?.removeLast()
        rows[key.type]?[key.id] = former
    }

    /// Forgets the places that rows have left, once they are the most. Nothing can be taken back after that.
    mutating func sweep() {
        for (type, places) in order where places.count > 2 * (rows[type]?.count ?? 0) + 16 {
            order[type] = places.filter { rows[type]?[$0.id]?.place == $0.place }
        }
    }

    /// The rows of a type that stand at a place or later, in order.
    func changed(_ type: String, from start: Place) -> some Sequence<(id: String, row: StoredRow)> {
        let places = order[type] ?? []
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].place < start { low = middle + 1 } else { high = middle }
        }
        let rows = rows[type] ?? [:]
        return places[low...].lazy.compactMap { entry in
            rows[entry.id].flatMap { $0.place == entry.place ? (entry.id, $0) : nil }
        }
    }
}
