// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Keeps rows back that refer to one which was deleted and begins a later life, until that goes: the server would delete them
/// along with the life that is over (M2).
struct LaterOwners {
    private var entries: RowEntryTable
    private let tables: AppTables
    private let now: Int64
    /// The rows that were looked at: whether a later life of theirs is still to go.
    private var isUnsent: [RowRef: Bool] = [:]

    init(_ entries: RowEntryTable, _ tables: AppTables, now: Int64) {
        self.entries = entries
        self.tables = tables
        self.now = now
    }

    /// These rows go with the push.
    mutating func sent(_ unit: [PushAssembly.Unsent]) {
        for unsent in unit where unsent.entry.isAlive && unsent.entry.generation > 1 { isUnsent[unsent.entry.ref] = false }
    }

    /// Whether a unit cannot go yet. It is one with the groups of the rows that it refers to from then on or, if they are too
    /// large to go whole, waits.
    mutating func holdUp(_ unit: [PushAssembly.Unsent]) throws -> Bool {
        let refs = Set(unit.map(\.entry.ref))
        for unsent in unit where unsent.entry.isAlive {
            for owner in owners(of: unsent) where try !refs.contains(owner) && isToCome(owner) {
                try hold(unsent.entry, until: owner)
                return true
            }
        }
        return false
    }

    private func owners(of unsent: PushAssembly.Unsent) -> [RowRef] {
        let layout = unsent.layout
        let sent = unsent.entry.heals ? layout.columns : layout.columns(in: unsent.entry.dirty)
        return sent.compactMap { tables.owner(by: $0, unsent.values[$0.name]) }
    }

    private mutating func isToCome(_ owner: RowRef) throws -> Bool {
        if let known = isUnsent[owner] { return known }
        let entry = try entries.entry(owner)
        let isToCome = entry.map { $0.isPending && $0.isAlive && $0.generation > 1 && !$0.isKnownToServer } ?? false
        isUnsent[owner] = isToCome
        return isToCome
    }

    private mutating func hold(_ entry: RowEntry, until owner: RowRef) throws {
        guard let group = entry.pending?.rawValue, let other = try entries.entry(owner)?.pending?.rawValue else { return }
        let groups = GroupJoins(entries.db)
        let united = try groups.united()
        if united.leader(of: group) != united.leader(of: other) { return try groups.insert([GroupJoin(group, other)]) }
        var held = entry
        held.due = now + Booking.blockedPauseMilliseconds
        held.blocked = tables[owner.table].flatMap { table in
            table.layout.idForm.wire(owner.id).map { "\(table.layout.name):\($0)" }
        }
        try entries.save(held)
    }
}
