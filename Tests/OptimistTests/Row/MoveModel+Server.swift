// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

extension MoveModel {
    struct Server {
        private(set) var spaces: [[Row?]]
        var seqs: [Int64]
        let fault: Fault?

        init(spaces count: Int, fault: Fault?) {
            spaces = Array(repeating: [], count: count)
            seqs = Array(repeating: 0, count: count)
            self.fault = fault
        }

        subscript(space: Int, row: Int) -> Row? { row < spaces[space].count ? spaces[space][row] : nil }

        /// Applies all changes of a group, or none.
        mutating func apply(_ group: [Change]) -> [Verdict] {
            let before = self
            let verdicts = group.map { apply($0) }
            if !verdicts.allSatisfy(\.isSuccess) {
                self = before
                return verdicts.map { $0.isSuccess ? .groupFailed : $0 }
            }
            if isSound { return verdicts }
            self = before
            return group.map { _ in .answer(.behind) }
        }

        /// Whether every list is in the space that it names, and every to-do is with its list.
        var isSound: Bool {
            spaces.indices.allSatisfy { space in
                spaces[space].allSatisfy { row in
                    guard let row, row.isAlive else { return true }
                    guard let home = row.values.home?.value else { return false }
                    return row.isList ? home == space : self[space, home]?.isAlive == true
                }
            }
        }
    }
}

// MARK: - Changes

extension MoveModel.Server {
    private mutating func apply(_ change: MoveModel.Change) -> MoveModel.Verdict {
        switch change.kind {
        case .set: set(change)
        case .delete: delete(change)
        case .copy: copy(change)
        }
    }

    @discardableResult
    private mutating func put(_ row: MoveModel.Row, _ id: Int, in space: Int) -> RowPlace.Version {
        while spaces[space].count <= id { spaces[space].append(nil) }
        seqs[space] += 1
        var row = row
        row.version.seq = seqs[space]
        spaces[space][id] = row
        return row.version
    }

    private func accepted(_ version: RowPlace.Version) -> MoveModel.Verdict {
        .answer(.accepted(generation: version.generation, seq: version.seq))
    }

    private func gone(_ row: MoveModel.Row, _ sent: RowPlace.Sent) -> MoveModel.Verdict {
        if row.version.movedTo != nil, row.version.firstLife <= sent.generation { return .answer(.moved(row.version)) }
        return .answer(.gone(generation: row.version.generation))
    }

    private mutating func set(_ change: MoveModel.Change) -> MoveModel.Verdict {
        let (sent, id) = (change.sent, change.row)
        let known = self[sent.space, id]
        guard var row = known, row.isAlive else {
            // Only a new identity replaces a tombstone, even if the server lost a later life of the row.
            if let known, !change.isWhole || sent.firstLife <= known.version.generation { return gone(known, sent) }
            if !change.isWhole { return .answer(.gone(generation: 0)) }
            let version = RowPlace.Version(generation: sent.generation, firstLife: sent.firstLife, seq: 0)
            let new = MoveModel.Row(version: version, isList: change.isList, values: change.values)
            return accepted(put(new, id, in: sent.space))
        }
        if sent.generation < row.version.firstLife { return .answer(.gone(generation: row.version.generation)) }
        row.values.merge(change.values)
        return accepted(put(row, id, in: sent.space))
    }

    private mutating func delete(_ change: MoveModel.Change) -> MoveModel.Verdict {
        let (sent, id) = (change.sent, change.row)
        guard let row = self[sent.space, id] else {
            let version = RowPlace.Version(generation: sent.generation + 1, firstLife: sent.firstLife, seq: 0)
            return accepted(put(MoveModel.Row(version: version, isList: change.isList), id, in: sent.space))
        }
        if !row.isAlive {
            if fault != .deletionStays, case .answer(.moved(let version)) = gone(row, sent) {
                return .answer(.moved(version))
            }
            return accepted(row.version)
        }
        if sent.generation < row.version.firstLife {
            return .answer(.accepted(generation: sent.generation + 1, seq: row.version.seq))
        }
        let version = end(row, id, in: sent.space)
        for (child, row) in spaces[sent.space].enumerated() {
            guard let row, row.isAlive, !row.isList, row.values.home?.value == id else { continue }
            end(row, child, in: sent.space)
        }
        return accepted(version)
    }

    @discardableResult
    private mutating func end(_ row: MoveModel.Row, _ id: Int, in space: Int) -> RowPlace.Version {
        var version = row.version
        version.generation += 1
        return put(MoveModel.Row(version: version, isList: row.isList), id, in: space)
    }

    /// Moves a row with everything that the server knows of it.
    private mutating func copy(_ change: MoveModel.Change) -> MoveModel.Verdict {
        let (sent, id) = (change.sent, change.row)
        let destination = sent.destination ?? sent.space
        let source = self[sent.space, id]
        if let source, !source.isAlive { return gone(source, sent) }
        if let source, sent.generation < source.version.firstLife { return .answer(.behind) }
        if source == nil, !change.isWhole { return .answer(.gone(generation: 0)) }
        let version = RowPlace.Version(generation: sent.generation, firstLife: sent.firstLife, seq: 0)
        var row = source ?? MoveModel.Row(version: version, isList: change.isList)
        let left = row.version.generation
        guard let generation = generation(of: row, for: change, in: destination) else { return .idTaken }
        if let there = self[destination, id], there.isAlive {
            row.values.merge(there.values)
        } else if fault == .copyForgets {
            row.values.counts = SIMD4()
            if change.isWhole { row.values = MoveModel.Values() }
        }
        row.values.merge(change.values)
        row.version.generation = generation
        if fault == .firstLifeForgotten { row.version.firstLife = generation }
        let copied = put(row, id, in: destination)
        let clock = row.values.home.map { WriteClock(stamp: Stamp(rawValue: Int64($0.time)), device: "") }
        var tombstone = RowPlace.Version(
            generation: left + 1, firstLife: row.version.firstLife, seq: 0,
            movedTo: RowPlace.Destination(space: destination, generation: generation, clock: clock))
        if source != nil || fault != .departureOfMissingRowForgotten {
            tombstone = put(MoveModel.Row(version: tombstone, isList: row.isList), id, in: sent.space)
        }
        return .answer(.copied(copied, leaving: tombstone))
    }

    /// The row's life in the destination. Nil if another row is alive there.
    private func generation(of row: MoveModel.Row, for change: MoveModel.Change, in destination: Int) -> Int? {
        let left = row.version.generation
        let there = self[destination, change.row]?.version
        if let there, there.isAlive {
            // Rows that are both in their first life share only their id.
            guard max(there.generation, left) > min(there.firstLife, row.version.firstLife) else { return nil }
            return there.generation > left ? there.generation : left + 2
        }
        let last = max(left, there?.generation ?? 0)
        return last + 1 + last % 2
    }
}
