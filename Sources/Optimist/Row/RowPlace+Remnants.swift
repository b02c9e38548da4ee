// This source file is part of the Optimist open source project, under the MIT licence.

/// Repairs after a restored server has lost a departure: another device may restore the row in a space that it left, so
/// that the row is in two spaces.
///
/// The version in the wrong space is a *remnant*. A device recognizes it only by a departure that the space itself had
/// reported, so other members of that space cannot change the row elsewhere.
extension RowPlace {
    /// Whether a version is this row, in a space that it left.
    ///
    /// If the row has ended, and any departure was lost, every living version of it is a remnant.
    func isRemnant(_ told: Version, in space: Int) -> Bool {
        guard told.isAlive, told.firstLife <= version.firstLife else { return false }
        return departures.contains { departure in
            if departure.seq != nil { return false }
            return !isAlive && !isNoted || departure.space == space && told.generation < departure.generation
        }
    }

    /// Notes that a remnant has moved on.
    mutating func noteMove(of told: Version, in space: Int) {
        guard let to = told.movedTo, let next = to.space, next != self.space, told.firstLife <= version.firstLife,
            departures.contains(where: { $0.space == space && $0.seq == nil }),
            !departures.contains(where: { $0.space == next })
        else { return }
        add(Departure(space: next, generation: to.generation + 1))
    }

    /// The change that the device sends to have the row in one space again. Nil if there is no remnant.
    ///
    /// The server joins two rows with the same first life. If this row has ended, the change is a deletion.
    ///
    /// - Parameter isLater: Whether the remnant in a space was moved later than the row. Then the row moves to it.
    func repair(isLater: (_ space: Int) -> Bool) -> Sent? {
        guard !isNoted, !isLost, let space, let (remnant, claim) = firstRemnant else { return nil }
        if isAlive, isLater(remnant) {
            return Sent(space: space, destination: remnant, generation: generation, firstLife: version.firstLife)
        }
        return joining(remnant, claim, to: isAlive ? space : nil)
    }

    /// The change that moves a remnant along with the row from the same space. Nil if there is no remnant.
    func repair(from space: Int, to destination: Int) -> Sent? {
        claims[space].flatMap { isRemnant($0, in: space) ? joining(space, $0, to: destination) : nil }
    }

    private var firstRemnant: (space: Int, version: Version)? {
        claims.filter { isRemnant($1, in: $0) }.min { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func joining(_ space: Int, _ claim: Version, to destination: Int?) -> Sent {
        Sent(space: space, destination: destination, generation: claim.generation, firstLife: claim.firstLife)
    }
}
