// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which owner's write comes next, so that one owner's many writes, or long ones, do not hold up the others.
///
/// Owners take turns. An owner who had the writer for long the last time gets transactions of its own, one after each
/// that the others share: so a short write waits for one long one at most.
struct WriteQueue<Write: Sendable>: Sendable {
    struct Turn: Sendable {
        var owner: String
        var write: Write
    }

    /// What waits, by owner. An owner whose write is being carried out is here too, and one in a lane whose writes were
    /// all removed.
    private var lines: [String: ArraySlice<Write>] = [:]
    /// The lanes: the owners with something that waits, the next one first.
    private var quick: ArraySlice<String> = []
    private var slow: ArraySlice<String> = []
    /// The owners whose last write was long.
    private var slowOwners: Set<String> = []
    /// Whether the present transaction is a slow owner's.
    private var isSlowTurn = false
    /// Whether one owner had the writer for long in the present transaction: then it is the others' turn.
    private var wasLong = false
    /// How many writes wait.
    private(set) var count = 0

    /// A write that takes longer is not to share a transaction again.
    static var long: Duration { .milliseconds(100) }
    /// Forgotten all at once beyond that: they are noticed again.
    private static var maxSlowOwners: Int { 1000 }

    mutating func add(_ write: Write, of owner: String) {
        if lines[owner] == nil { lineUp(owner) }
        lines[owner, default: []].append(write)
        count += 1
    }

    /// Takes out a write that still waits. Nil: it was taken before.
    mutating func remove(of owner: String, where isMeant: (Write) -> Bool) -> Write? {
        guard let index = lines[owner]?.firstIndex(where: isMeant) else { return nil }
        count -= 1
        return lines[owner]?.remove(at: index)
    }

    /// The first write of a transaction. Nil: none waits.
    mutating func first() -> Turn? {
        for lane in [\Self.quick, \Self.slow] { skipEmpty(in: lane) }
        isSlowTurn = !slow.isEmpty && (quick.isEmpty || !wasLong)
        wasLong = false
        return take(from: isSlowTurn ? \.slow : \.quick)
    }

    /// Another write for the same transaction. Nil: none that may share it.
    mutating func another() -> Turn? { isSlowTurn ? nil : take(from: \.quick) }

    /// Has to be told of each write that was taken, and then its owner's next one may come.
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

    /// Passes over owners whose writes were removed.
    private mutating func skipEmpty(in lane: WritableKeyPath<Self, ArraySlice<String>>) {
        while let owner = self[keyPath: lane].first, lines[owner]?.isEmpty != false {
            self[keyPath: lane].removeFirst()
            lines[owner] = nil
        }
    }
}
