// This source file is part of the Optimist open source project, under the MIT licence.

/// Divides the memory that all requests together may hold among the accounts. All amounts are in bytes.
///
/// An account never takes more than what is left for everyone: alone it gets half, two get a third each. When several
/// accounts leave less than an evaluation needs, new requests are refused until some answers have been read. A request that is
/// alone is let in whatever its size.
///
/// > Source: Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998.
struct MemoryLedger {
    let limit: Int
    private(set) var total = 0
    private var held: [String: Int] = [:]

    init(limit: Int) { self.limit = limit }

    /// Whether an account may have more.
    ///
    /// - Parameter own: How much of what is held belongs to the request that asks.
    private func hasRoom(_ bytes: Int, for account: String, own: Int) -> Bool {
        total == own || held[account, default: 0] - own + bytes <= limit - total
    }

    /// Takes memory for an account.
    ///
    /// - Returns: False if there is no room. Then nothing was taken.
    mutating func take(_ bytes: Int, for account: String, own: Int) -> Bool {
        guard hasRoom(bytes, for: account, own: own) else { return false }
        add(bytes, to: account)
        return true
    }

    /// Sets memory aside for an evaluation, of which few run at a time. It does not count for the account: most of it is
    /// given back at once.
    ///
    /// - Returns: False if there is no room. Then nothing was set aside.
    mutating func setAside(_ bytes: Int, for account: String, own: Int) -> Bool {
        guard hasRoom(bytes, for: account, own: own) else { return false }
        total += bytes
        return true
    }

    mutating func giveBack(_ bytes: Int) { total -= bytes }

    /// Adds what cannot be refused any more, or gives back what is held, as a negative number.
    mutating func add(_ bytes: Int, to account: String) {
        total += bytes
        let now = held[account, default: 0] + bytes
        held[account] = now == 0 ? nil : now
    }
}
