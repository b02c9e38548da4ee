// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides whose write runs next, so that many or long writes of one owner do not delay the others.
///
/// Owners take turns. An owner whose last write was long gets separate transactions, which alternate with the shared
/// transactions. So a short write waits for at most one long write.
struct WriteQueue<Write: Sendable>: Sendable {
    struct Turn: Sendable {
        var owner: String
        var write: Write
    }

    /// The waiting writes by owner. An owner whose write is running, or an owner in a lane whose writes were all
    /// removed, also has an entry.
    private var lines: [String: ArraySlice<Write>] = [:]
    /// The lanes: owners with waiting writes, the next owner first.
    private var quick: ArraySlice<String> = []
    private var slow: ArraySlice<String> = []
    private var slowOwners: Set<String> = []
    private var isSlowTurn = false
    /// Whether a write in the current transaction was long. The quick lane then goes next.
    private var wasLong = false
    private(set) var count = 0

    /// A write that takes longer makes its owner slow.
    static var long: Duration { .milliseconds(100) }
    /// If there are more slow owners, all of them are forgotten. They are soon detected again.
    private static var maxSlowOwners: Int { 1000 }

    mutating func add(_ write: Write, of owner: String) {
        if lines[owner] == nil { lineUp(owner) }
        lines[owner, default: []].append(write)
        count += 1
    }

    /// Returns nil if the write no longer waits.
    mutating func remove(of owner: String, where isMeant: (Write) -> Bool) -> Write? {
        guard let index = lines[owner]?.firstIndex(where: isMeant) else { return nil }
        count -= 1
        return lines[owner]?.remove(at: index)
    }

    mutating func first() -> Turn? {
        for lane in [\Self.quick, \Self.slow] { skipEmpty(in: lane) }
        isSlowTurn = !slow.isEmpty && (quick.isEmpty || !wasLong)
        wasLong = false
        return take(from: isSlowTurn ? \.slow : \.quick)
    }

    /// Returns another write for the current transaction.
    mutating func another() -> Turn? { isSlowTurn ? nil : take(from: \.quick) }

    /// Call this after each write that was taken. It lets the owner's next write follow.
    mutating func finished(_ turn: Turn, after time: Duration) {
        if time > Self.long {
            if slowOwners.count >= Self.maxSlowOwners { slowOwners = [] }
            slowOwners.insert(turn.owner)
            wasLong = true
        } else {
            slowOwners.remove(turn.owner)
        }
        if lines[turn.owner]?.isEmpty == true { lines[turn.owner] = nil } else { lineUp(turn.owner) }
    }

    private mutating func lineUp(_ owner: String) {
        if slowOwners.contains(owner) { slow.append(owner) } else { quick.append(owner) }
    }

    private mutating func take(from lane: WritableKeyPath<Self, ArraySlice<String>>) -> Turn? {
        skipEmpty(in: lane)
        guard let owner = self[keyPath: lane].popFirst(), let write = lines[owner]?.popFirst() else { return nil }
        count -= 1
        return Turn(owner: owner, write: write)
    }

    private mutating func skipEmpty(in lane: WritableKeyPath<Self, ArraySlice<String>>) {
        while let owner = self[keyPath: lane].first, lines[owner]?.isEmpty != false {
            self[keyPath: lane].removeFirst()
            lines[owner] = nil
        }
    }
}
