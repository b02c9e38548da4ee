// This source file is part of the Optimist open source project, under the MIT licence.

/// What the in-memory store knows about an account beside its rows.
struct AccountNotes: Sendable {
    /// The last transaction.
    var seq: Int64 = 0
    /// The last transaction whose deleted rows the store has forgotten.
    var floor: Int64 = 0
    /// The last transaction that the app was told of.
    var reported: Int64 = 0
    /// The highest push number of each device, and the day of its last push.
    var pushes: [String: LastPush] = [:]
    /// The account's seq when an epoch began, for the epochs in which the account changed.
    var epochs: [String: Int64] = [:]
    /// The day of the last transaction.
    private(set) var lastDay: Int?
    /// The account's seq before its first transaction of each day.
    private(set) var days: [Int: Int64] = [:]

    struct LastPush: Sendable {
        var number: Int64
        var day: Int
    }

    /// Notes the day of the transaction that follows. Later days that were noted before came from a wrong clock, and
    /// are dropped.
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

    /// Forgets the account's seq on days that are too long ago.
    mutating func forgetDays(before day: Int) { days = days.filter { $0.key >= day } }
}
