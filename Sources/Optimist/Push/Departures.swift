// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Holds back a person's departure from a space until the other unsent rows of the space are settled. After the
/// departure, the server would refuse them.
struct Departures {
    private var entries: RowEntryTable
    private let tables: AppTables
    private let now: Int64
    private(set) var heldCount = 0

    init(_ entries: RowEntryTable, _ tables: AppTables, now: Int64) {
        self.entries = entries
        self.tables = tables
        self.now = now
    }

    /// If a unit is a departure that must wait for another row, holds the unit.
    mutating func holdUp(_ unit: [PushAssembly.Unsent]) throws -> Bool {
        // If the space is deleted, its unsent rows are not needed any more. Before the person has joined, no row of the
        // space can be sent.
        guard unit.count == 1, let member = unit.first, isDeparture(member), member.entry.remote.generation > 0,
            let other = try lastUnsent(in: member.scope, besides: member.entry.ref)
        else { return false }
        let due = try entries.hold(member.entry, until: other, tables, at: now)
        try WaitTable(entries.db).note(.unsentRows, of: member.entry.ref, until: due)
        heldCount += 1
        return true
    }

    private func isDeparture(_ unsent: PushAssembly.Unsent) -> Bool {
        !unsent.entry.isAlive && unsent.scope.isOwnMember(unsent.entry.ref, in: unsent.layout)
    }

    private func lastUnsent(in scope: Scope, besides member: RowRef) throws -> RowRef? {
        var homes = RowHomes(tables, entries)
        return try RowEntryTable.unsent(entries.db).last { ref in
            guard ref != member, tables[ref.table]?.layout.rules.space != nil else { return false }
            return try homes.home(of: ref) == .scope(scope)
        }
    }
}

extension RowEntryTable {
    /// Postpones a row until another one is settled, or for a pause in case no answer settles the other.
    ///
    /// - Returns: When the row is due, in milliseconds since 1970.
    mutating func hold(_ entry: RowEntry, until other: RowRef, _ tables: AppTables, at now: Int64) throws -> Int64 {
        var held = entry
        let due = max(
            now + PushResults.retryPause(after: entry.local?.retries ?? 0), try self.entry(other)?.local?.due ?? 0)
        let end = min(due, now + PushResults.longestPauseMilliseconds)
        held.local?.wait(until: end, for: tables.name(of: other))
        held.local?.countRetry()
        try save(held)
        return end
    }
}

extension DeferralReason {
    /// The person leaves a space after its other rows are sent.
    static let unsentRows = DeferralReason("unsentRows")
}
