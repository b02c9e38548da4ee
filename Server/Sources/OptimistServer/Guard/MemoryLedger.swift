// This source file is part of the Optimist open source project, under the MIT licence.

/// Divides the memory that all requests together may hold among the accounts. All amounts are in bytes.
///
/// An account holds at most as much as it leaves free for everyone: a lone account gets half, two accounts get a third each.
/// Accounts that come later get less, but never less than their allowance. A request that is alone is let in whatever its
/// size.
///
/// > Source: Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998.
struct MemoryLedger {
    let limit: Int
    /// How much an account may hold even when other accounts hold the whole limit. It comes on top of the limit.
    let allowance: Int
    private(set) var total = 0
    private var held: [String: Int] = [:]

    init(limit: Int, allowance: Int) {
        self.limit = limit
        self.allowance = allowance
    }

    /// How much more an account may take now.
    func room(for account: String) -> Int {
        let held = held[account, default: 0]
        return max((limit - total - held) / 2, allowance - held, 0)
    }

    /// Takes memory for an account.
    ///
    /// - Parameter own: How much of the held memory belongs to the request that asks.
    /// - Returns: False if there is no room. Then nothing was taken.
    mutating func take(_ bytes: Int, for account: String, own: Int) -> Bool {
        guard total == own || bytes <= room(for: account) else { return false }
        add(bytes, to: account)
        return true
    }

    /// Adds memory that is in use already, or gives memory back, as a negative number.
    mutating func add(_ bytes: Int, to account: String) {
        total += bytes
        let now = held[account, default: 0] + bytes
        held[account] = now == 0 ? nil : now
    }
}
