// This source file is part of the Optimist open source project, under the MIT licence.

/// Divides the memory for all requests among the accounts, in bytes.
///
/// An account may hold at most as much as it leaves free: a lone account gets half, two accounts get a third each.
/// Accounts that arrive later get less, but never less than their allowance. A lone request is always accepted,
/// whatever its size.
///
/// > Source: Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998.
struct MemoryLedger {
    let limit: Int
    /// How much an account may hold even if others use up the limit. Not part of the limit.
    let allowance: Int
    private(set) var total = 0
    private var held: [String: Int] = [:]

    init(limit: Int, allowance: Int) {
        self.limit = limit
        self.allowance = allowance
    }

    func room(for account: String) -> Int {
        let held = held[account, default: 0]
        return max((limit - total - held) / 2, allowance - held, 0)
    }

    /// - Parameter own: How much memory the request already holds.
    /// - Returns: False, without effect, if the memory is full.
    mutating func take(_ bytes: Int, for account: String, own: Int) -> Bool {
        guard total == own || bytes <= room(for: account) else { return false }
        add(bytes, to: account)
        return true
    }

    /// Counts bytes that are already in use, without a limit. A negative number frees bytes.
    mutating func add(_ bytes: Int, to account: String) {
        total += bytes
        let now = held[account, default: 0] + bytes
        held[account] = now == 0 ? nil : now
    }
}
