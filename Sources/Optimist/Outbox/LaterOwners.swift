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
    /// How many units were kept back.
    private(set) var heldCount = 0

    init(_ entries: RowEntryTable, _ tables: AppTables, now: Int64) {
        self.entries = entries
        self.tables = tables
        self.now = now
    }

    /// These rows go with the push.
    mutating func sent(_ unit: [PushAssembly.Unsent]) {
        for unsent in unit where unsent.entry.isAlive && unsent.entry.generation > 1 {
            isUnsent[unsent.entry.ref] = false
        }
    }

    /// Whether a unit cannot go yet. It waits then for the row that one of its rows refers to, as if the server had said so.
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
        let isToCome = try entries.entry(owner).map { $0.generation > 1 && $0.isToBegin } ?? false
        isUnsent[owner] = isToCome
        return isToCome
    }

    /// The row may go as soon as the owner is settled. The engine also looks at it now and then, in case no answer says
    /// so.
    private mutating func hold(_ entry: RowEntry, until owner: RowRef) throws {
        var held = entry
        let due = max(now + Booking.retryPause(after: entry.retries), try entries.entry(owner)?.due ?? 0)
        held.due = min(due, now + Booking.longestPauseMilliseconds)
        held.retries += 1
        held.blocked = tables[owner.table].flatMap { table in
            table.layout.idForm.wire(owner.id).map { "\(table.layout.name):\($0)" }
        }
        try entries.save(held)
        heldCount += 1
    }
}

extension RowEntry {
    /// Whether the row is alive in a life that the server does not have, or has lost, and that the device will send.
    var isToBegin: Bool { isPending && isAlive && (!isKnownToServer || heals) }
}
