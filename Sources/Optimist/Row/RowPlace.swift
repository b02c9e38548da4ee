// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The space in which the server has a row, and versions of the same id in the user's other spaces.
///
/// Lives are numbered across spaces: a move begins the row's next life in another space. A row leaves a space only if a
/// page or an answer of that space reports it. Until then, a version from another space is a *claim*: it is parked.
///
/// The values and the unsent edits are in ``RowEntry``. An ``Outcome`` names the entry's part of an event. Pure.
struct RowPlace: Equatable, Sendable {
    /// A row in one space, as a page or an answer reports it.
    struct Version: Equatable, Sendable {
        /// Odd if alive, even if ended, zero if the server has not confirmed the row.
        var generation: Int
        /// The life in which the row was created. Edits of any life since then apply to this version.
        var firstLife: Int
        /// The server's transaction. Comparable only within one space.
        var seq: Int64
        /// Set if the life ended by a move.
        var movedTo: Destination?

        var isAlive: Bool { generation % 2 == 1 }
    }

    struct Destination: Equatable, Sendable {
        /// Nil for a space that this user does not have.
        var space: Int?
        /// The row's life there.
        var generation: Int
        /// The clock of the column that moved the row: its space or its parent's key.
        var clock: WriteClock?
    }

    /// Nil if the row is not in any space, as far as this device knows.
    private(set) var space: Int?
    private(set) var version = Version(generation: 0, firstLife: 0, seq: 0)
    /// Whether a push has named the space for a life that the server has not confirmed.
    private(set) var isNoted = false
    /// Whether a restored server has lost the version.
    private(set) var isLost = false
    /// The parked versions, by space.
    private(set) var claims: [Int: Version] = [:]

    var generation: Int { version.generation }
    var isAlive: Bool { version.isAlive }

    /// The life of this row's edits.
    var life: Int { isNoted ? generation + 1 : generation }
}

extension RowPlace {
    struct Outcome: Equatable, Sendable {
        var step: Step
        /// After the step, the shell takes the parked version of this space, and lets the place receive it.
        var unparked: Int?
    }

    /// The next step of the row's entry or of the shell.
    enum Step: Equatable, Sendable {
        case none
        /// The entry receives the version. If it continues the known row, unsent edits stay.
        case receive(continues: Bool)
        /// The shell parks the version as a claim.
        case park
        /// The row continues in another space. The entry takes the generation, and drops an unsent move that is earlier
        /// than the clock. Other unsent edits and deletions stay.
        case rebase(Destination)
        /// The row and its unsent edits end.
        case end(Ending)
        /// The entry confirms the sent values.
        case confirm
        /// The entry rejects the sent values and takes back a sent move.
        case reject
        /// The entry rejects and takes back an unsent move.
        case rejectMove
        /// The edits stay unsent until the next page.
        case wait
    }

    enum Ending: Equatable, Sendable {
        /// The server ended the row, in this generation.
        case ended(Int)
        /// The row moved to a space that this user does not have. The journal keeps unsent edits.
        case movedAway
        /// The user has lost access to the space. A rejection keeps unsent edits.
        case accessEnded
    }
}

// MARK: - Pages

extension RowPlace {
    /// Takes a version from a page.
    mutating func receive(_ told: Version, from space: Int) -> Outcome {
        guard let here = self.space else {
            return told.isAlive ? become(told, in: space, .receive(continues: false)) : Outcome(step: .none)
        }
        if space == here { return receiveHere(told) }
        guard isClaim(told) else { return Outcome(step: .none) }
        if isAlive || isNoted {
            claims[space] = told
            return Outcome(step: .park)
        }
        return become(told, in: space, .receive(continues: false))
    }

    /// Whether a page of another space has an earlier life than this living row. If it is the same row, a restored server
    /// has lost that the row left that space, or the page is older than the move.
    func isEarlierStay(_ told: Version, in space: Int) -> Bool {
        isAlive && self.space != space && told.isAlive && told.generation < generation
    }

    private mutating func receiveHere(_ told: Version) -> Outcome {
        // A restored server may have numbered the end of a lost life lower.
        if told.generation < generation, told.isAlive || !isLost { return Outcome(step: .none) }
        let continues = told.firstLife <= life
        if told.isAlive { return become(told, in: space, .receive(continues: continues)) }
        // A lost deletion follows the row, like an unsent one.
        if let destination = told.movedTo, continues, isAlive || isNoted || isLost {
            return depart(to: destination, by: told)
        }
        return become(told, in: space, .end(.ended(told.generation)))
    }

    private mutating func depart(to destination: Destination, by tombstone: Version) -> Outcome {
        guard let next = destination.space else { return become(tombstone, in: space, .end(.movedAway)) }
        let version = Version(generation: destination.generation, firstLife: tombstone.firstLife, seq: 0)
        return become(version, in: next, .rebase(destination))
    }

    /// - Returns: The step, and the parked version that is the row now.
    private mutating func become(_ version: Version, in space: Int?, _ step: Step) -> Outcome {
        (self.space, self.version, isNoted, isLost) = (space, version, false, false)
        return Outcome(step: step, unparked: takeClaim())
    }

    /// Removes the claim to apply next, and the claims on earlier lives than the row's present one.
    ///
    /// - Returns: The space of the parked version.
    mutating func takeClaim() -> Int? {
        let next = nextClaim
        claims = claims.filter { $0.key != next && $0.key != space && isClaim($0.value) }
        return next
    }

    /// The parked version in the row's space or, after the row's end, the latest living version.
    private var nextClaim: Int? {
        if isAlive || isNoted { return space.flatMap { claims[$0]?.generation ?? 0 >= generation ? $0 : nil } }
        let living = claims.filter { isClaim($0.value) }
        return living.max { ($0.value.generation, $1.key) < ($1.value.generation, $0.key) }?.key
    }

    /// Whether a version from another space is kept. If not, it is an earlier stay of this row.
    private func isClaim(_ told: Version) -> Bool {
        if !isAlive, !isNoted { return told.isAlive && told.generation >= generation - 1 }
        return told.isAlive ? told.generation >= generation : told.generation > generation
    }
}

// MARK: - Pushes

extension RowPlace {
    /// The row's address in a push.
    struct Sent: Equatable, Sendable {
        /// The space in which the device knows the row.
        var space: Int
        /// Set for a move.
        var destination: Int?
        var generation: Int
        var firstLife: Int
    }

    enum Answer: Equatable, Sendable {
        /// The server took an edit, a new row or a deletion. The row is then in this generation.
        case accepted(generation: Int, seq: Int64)
        /// The server moved the row: its version in the destination, and the tombstone in the source.
        case copied(Version, leaving: Version)
        /// The row has ended. Zero if the server does not have it.
        case gone(generation: Int)
        /// The tombstone of a row that has moved.
        case moved(Version)
        /// The device must first receive a page.
        case behind
        case refused
    }

    /// Fixes the place of an unsent life when it is first sent, because its answer may get lost.
    mutating func note(_ space: Int) {
        if isAlive || isNoted { return }
        if self.space != space { version.seq = 0 }
        self.space = space
        isNoted = true
    }

    mutating func answer(_ answer: Answer, to sent: Sent) -> Outcome {
        let isHere = space == sent.space
        switch answer {
        case .accepted(let generation, let seq):
            if claims[sent.space]?.generation ?? 0 < generation { claims[sent.space] = nil }
            guard isHere, isLost || generation >= self.generation else { return Outcome(step: .confirm) }
            let firstLife = isNoted || isLost ? sent.firstLife : version.firstLife
            let told = Version(generation: generation, firstLife: firstLife, seq: max(version.seq, seq))
            return become(told, in: space, .confirm)
        case .copied(let told, let tombstone):
            // A page may have reported a later return to the source.
            if claims[sent.space]?.generation ?? 0 < tombstone.generation { claims[sent.space] = nil }
            guard told.generation > generation else { return Outcome(step: .confirm) }
            return become(told, in: sent.destination, .confirm)
        case .gone(let generation):
            guard isHere, isNoted || generation > (isLost ? 0 : self.generation) else { return Outcome(step: .none) }
            let told = Version(generation: generation, firstLife: version.firstLife, seq: version.seq)
            return become(told, in: space, .end(.ended(generation)))
        case .moved(let told):
            guard isHere, isLost || told.movedTo?.generation ?? 0 > generation else { return Outcome(step: .none) }
            return receiveHere(told)
        case .behind: return Outcome(step: .wait)
        case .refused:
            return isNoted ? become(version, in: generation == 0 ? nil : space, .reject) : Outcome(step: .reject)
        }
    }
}

// MARK: - Lost access

extension RowPlace {
    /// The user has lost access to a space.
    ///
    /// - Parameter target: The destination of the row's unsent move.
    mutating func endAccess(to ended: Int, movingTo target: Int?) -> Outcome {
        claims[ended] = nil
        guard space == ended else { return Outcome(step: target == ended ? .rejectMove : .none) }
        return become(Version(generation: 0, firstLife: 0, seq: 0), in: nil, .end(.accessEnded))
    }
}
