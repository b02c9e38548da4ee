// This source file is part of the Optimist open source project, under the MIT licence.

/// The in-memory store's data about an account, apart from its rows.
struct AccountNotes: Sendable {
    var kind = AccountKind.person
    var seq: Int64 = 0
    /// The number of living rows.
    var rowCount = 0
    /// The last transaction whose tombstones the store has purged.
    var floor: Int64 = 0
    /// The last transaction reported to the app.
    var reported: Int64 = 0
    /// The highest push number of each device, and the day of its last push.
    var pushes: [Device: LastPush] = [:]
    /// The account's seq at the start of each epoch that changed the account.
    var epochs: [String: Int64] = [:]
    /// The memberships of a space by person, including ended memberships.
    var members: [String: Membership] = [:]
    /// The audit of a space, oldest first, each event with its seq.
    var events: [(seq: Int64, event: SpaceEvent)] = []
    private(set) var lastDay: Int?
    /// The account's seq before its first transaction of each day.
    private(set) var days: [Int: Int64] = [:]

    struct Device: Hashable, Sendable {
        /// Empty for the operator.
        var person: String
        var id: String
    }

    struct LastPush: Sendable {
        var number: Int64
        var day: Int
    }

    /// Notes the day of the next transaction. Removes later days, because the clock was wrong when they were noted.
    mutating func begin(day: Int) {
        guard lastDay != day else { return }
        lastDay = day
        days = days.filter { $0.key <= day }
        if days[day] == nil { days[day] = seq }
    }

    /// The last transaction that was certainly made before a day.
    func seq(before day: Int) -> Int64 {
        let noted = days.filter { $0.key >= day }.min { $0.key < $1.key }?.value
        return Expiry.seq(before: day, seq: seq, lastDay: lastDay, noted: noted)
    }

    /// Whether events have expired, or there are too many.
    func hasExpiredEvents(_ expiry: Expiry) -> Bool {
        events.count > SpaceEvent.limit
            || events.contains { $0.event.milliseconds < expiry.auditedBeforeMilliseconds }
    }

    mutating func forgetEvents(_ expiry: Expiry) {
        events.removeAll { $0.event.milliseconds < expiry.auditedBeforeMilliseconds }
        events.removeFirst(max(0, events.count - SpaceEvent.limit))
    }

    mutating func forgetDays(before day: Int) { days = days.filter { $0.key >= day } }
}
