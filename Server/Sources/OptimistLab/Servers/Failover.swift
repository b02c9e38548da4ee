// This source file is part of the Optimist open source project, under the MIT licence.

/// A row of an account.
struct AccountRow: Hashable, Sendable {
    var account: String
    var id: String
}

/// What became of the acknowledged rows when the standby took over.
struct Failover: Sendable, Equatable {
    /// How many rows phones had as acknowledged.
    let acknowledged: Int
    /// Those of them that the standby had not got.
    let lost: Set<AccountRow>
    /// Those of the lost ones that phones have and the database has not.
    private(set) var missing: Set<AccountRow>
    /// From the kill until the new primary took writes.
    let duration: Duration

    /// - Parameters:
    ///   - acknowledged: The rows that phones have as acknowledged.
    ///   - held: The rows that the new primary has, before a device has reached it.
    init(acknowledged: Set<AccountRow>, held: Set<AccountRow>, duration: Duration) {
        self.acknowledged = acknowledged.count
        lost = acknowledged.subtracting(held)
        missing = lost
        self.duration = duration
    }

    /// How many of the lost rows are there again. One that was deleted since on the phones counts too.
    var healed: Int { lost.count - missing.count }

    /// Looks for the missing rows.
    ///
    /// - Parameters:
    ///   - wanted: The rows that phones have.
    ///   - held: The rows that the database has.
    mutating func look(wanted: Set<AccountRow>, held: Set<AccountRow>) {
        missing = missing.intersection(wanted).subtracting(held)
    }
}
