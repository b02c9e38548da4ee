// This source file is part of the Optimist open source project, under the MIT licence.

/// Divides the memory for all requests among the people who send them, in bytes.
///
/// A person may hold at most as much as stays free: one person alone gets half, two people get a third each. People
/// who arrive later get less, but never less than their allowance. A lone request is always accepted, whatever its
/// size.
///
/// > Source: Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998.
struct MemoryLedger {
    let limit: Int
    /// How much a person may hold even if other people use up the limit. The allowance is not part of the limit.
    let allowance: Int
    private(set) var total = 0
    private var held: [String: Int] = [:]

    init(limit: Int, allowance: Int) {
        self.limit = limit
        self.allowance = allowance
    }

    func room(for person: String) -> Int {
        let held = held[person, default: 0]
        return max((limit - total - held) / 2, allowance - held, 0)
    }

    /// - Parameter own: How much the requesting request already holds.
    /// - Returns: False if the memory is full. Nothing is taken then.
    mutating func take(_ bytes: Int, for person: String, own: Int) -> Bool {
        guard total == own || bytes <= room(for: person) else { return false }
        add(bytes, to: person)
        return true
    }

    /// Adds memory that is already in use. A negative number returns memory.
    mutating func add(_ bytes: Int, to person: String) {
        total += bytes
        let now = held[person, default: 0] + bytes
        held[person] = now == 0 ? nil : now
    }
}
