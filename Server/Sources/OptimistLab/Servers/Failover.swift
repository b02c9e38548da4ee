// This source file is part of the Optimist open source project, under the MIT licence.

struct AccountRow: Hashable, Sendable {
    var account: String
    var id: String
}

/// The effect of a failover on acknowledged rows.
struct Failover: Sendable, Equatable {
    /// Rows that phones considered acknowledged.
    let acknowledged: Int
    /// The acknowledged rows that the standby had not received.
    let lost: Set<AccountRow>
    /// The lost rows that phones still have but the database does not.
    private(set) var missing: Set<AccountRow>
    /// From the kill until the new primary accepted writes.
    let duration: Duration

    /// - Parameter held: The rows on the new primary, before a device has reached it.
    init(acknowledged: Set<AccountRow>, held: Set<AccountRow>, duration: Duration) {
        self.acknowledged = acknowledged.count
        lost = acknowledged.subtracting(held)
        missing = lost
        self.duration = duration
    }

    /// Includes lost rows that phones have deleted after the failover.
    var healed: Int { lost.count - missing.count }

    /// - Parameters:
    ///   - wanted: The rows on the phones.
    ///   - held: The rows in the database.
    mutating func look(wanted: Set<AccountRow>, held: Set<AccountRow>) {
        missing = missing.intersection(wanted).subtracting(held)
    }
}
