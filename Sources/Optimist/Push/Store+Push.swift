// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// A push to be sent, and the data to apply its verdicts.
struct PushBatch: Sendable {
    let push: RemotePush
    let sent: [SentRow]

    /// The number of parts that succeed or fail independently.
    var unitCount: Int { sent.count - push.groups.reduce(0) { $0 + $1.count - 1 } }
}

/// The most that one push carries. `bytes` counts values.
struct PushLimit: Sendable, Equatable {
    var rows = 1_000
    var bytes = 4_000_000
}

extension Store {
    /// Whether anything can be sent now and, if not, how long until the next postponed row is due.
    ///
    /// - Parameter paused: Tables to leave out.
    func pushOutlook(without paused: Set<String> = []) async throws -> (isSendable: Bool, nextDue: Duration?) {
        let now = correctedMilliseconds
        while true {
            let outlook = try await read { try SendingOrder($0).isMissing ? nil : self.pushOutlook($0, now, paused) }
            if let outlook { return outlook }
            try await apply { try SendingOrder($0).prepare() }
        }
    }

    private func pushOutlook(
        _ db: Database, _ now: Int64, _ paused: Set<String>
    ) throws -> (isSendable: Bool, nextDue: Duration?) {
        let units = try SendableUnits(db, at: now, of: layouts, withheld: withheld(paused))
        if try !units.next(limit: 1).isEmpty { return (true, nil) }
        return (false, try units.nextDue().map { .milliseconds(max($0 - now, 1)) })
    }

    /// Assembles the next push from the pending rows' current values (S1), group by group (S2), and durably notes the
    /// sent columns.
    ///
    /// - Returns: Nil if none of the examined rows can be sent now.
    func nextPush(_ limit: PushLimit, without paused: Set<String> = []) async throws -> PushBatch? {
        let now = correctedMilliseconds
        return try await apply { db in
            try SendingOrder(db).prepare()
            try Scope.followSpaces(self.layouts, in: db)
            try UnseenSettling.keepEdited(self.layouts, db)
            if self.capture.launchOrigin == nil { try LaunchOrigin(db).move() }
            let sendable = try SendableUnits(db, at: now, of: self.layouts, withheld: self.withheld(paused))
            let tables = AppTables(self.layouts, db)
            var reading = UnitReading(entries: try RowEntryTable(db), tables: tables, now: now)
            var owners = LaterOwners(try RowEntryTable(db), tables, now: now)
            var departures = Departures(try RowEntryTable(db), tables, now: now)
            var assembly = PushAssembly(device: try DeviceIdentity.current(in: db), limit: limit)
            // Units that must wait are postponed, and do not hold up the units behind them.
            while assembly.rows.isEmpty {
                let units = try sendable.next(limit: limit.rows)
                // Limits the postponements of one transaction.
                if units.isEmpty || owners.heldCount + departures.heldCount >= UnitScan.maxRows { break }
                for unit in units {
                    let unsent = try reading.unsent(unit)
                    if try owners.holdUp(unsent) || departures.holdUp(unsent) { continue }
                    // Moved rows take others along, which may be in further units.
                    let isMove = unsent.contains { $0.source != nil }
                    if isMove, !assembly.rows.isEmpty { break }
                    guard assembly.add(isMove ? try reading.withRowsBelow(unsent) : unsent) else { break }
                    owners.sent(unsent)
                    if isMove { break }
                }
            }
            if owners.heldCount > 0 { try GroupCycles(try RowEntryTable(db), tables).unite() }
            if assembly.rows.isEmpty { return nil }
            let noting = try RowStatement("UPDATE optimist_edit SET sent = sent | ? WHERE tbl = ? AND id = ?", in: db)
            for sent in assembly.sent {
                try reading.place(sent)
                try noting.execute([sent.mask.databaseValue, sent.ref.table.databaseValue, sent.ref.id])
            }
            let number = (try Meta.int(.push, in: db) ?? 0) + 1
            try Meta.set(.push, to: number, in: db)
            try Meta.set(.inFlight, to: number, in: db)
            try Meta.set(.unanswered, to: assembly.sent.count, in: db)
            return PushBatch(
                push: RemotePush(
                    number: number, device: assembly.device, rows: assembly.rows, groups: assembly.groups,
                    origins: try DeviceIdentity.origins(in: db),
                    oldestPendingSeconds: try OldestPending.seconds(at: now, db)),
                sent: assembly.sent)
        }
    }

    func withheld(_ paused: Set<String>) -> [TableLayout] {
        network.withheld(of: layouts) + layouts.filter { paused.contains($0.name) }
    }

    /// Undoes the record of a push that was certainly not sent. If a created row has already been deleted, it is
    /// forgotten.
    func recall(_ batch: PushBatch) async throws {
        try await apply { db in
            guard try Meta.int(.inFlight, in: db) == batch.push.number else { return }
            try Meta.set(.inFlight, to: nil, in: db)
            try Meta.set(.unanswered, to: nil, in: db)
            var entries = try RowEntryTable(db)
            for sent in batch.sent {
                guard var entry = try entries.entry(sent.ref), entry.isPending else { continue }
                entry.local?.takeBack(sent)
                entry.endUnsentLife()
                try entries.save(entry)
            }
        }
    }

    /// Notes that a push ended with an unknown outcome. If `batch` is nil, this is any push in flight.
    func pushEnded(_ batch: PushBatch? = nil) async throws {
        try await apply { db in
            guard let number = try Meta.int(.inFlight, in: db), batch == nil || batch?.push.number == number else {
                return
            }
            try Meta.set(.inFlight, to: nil, in: db)
        }
    }
}

private struct UnitReading {
    var entries: RowEntryTable
    let tables: AppTables
    let now: Int64
    private var homes: RowHomes
    /// New rows whose scope is not noted yet.
    private var unplaced: Set<RowRef> = []

    init(entries: RowEntryTable, tables: AppTables, now: Int64) {
        self.entries = entries
        self.tables = tables
        self.now = now
        homes = RowHomes(tables, entries)
    }

    /// Fixes where a new row is, because the answer to its first push may get lost.
    mutating func place(_ sent: SentRow) throws {
        guard unplaced.contains(sent.ref), var entry = try entries.entry(sent.ref) else { return }
        entry.remote.hear(in: sent.scope)
        try entries.save(entry)
    }

    mutating func unsent(_ unit: [RowEntry]) throws -> [PushAssembly.Unsent] {
        try unit.compactMap { entry in
            guard let table = tables[entry.ref.table] else { return nil }
            if table.layout.idForm.wire(entry.ref.id) == nil {
                try hold(entry, .invalidID)
                return nil
            }
            let values = entry.isAlive ? try table.values(entry.ref.id) : nil
            if entry.isAlive, values == nil {
                try forget(entry)
                return nil
            }
            let scope: Scope
            switch try homes.destination(of: entry, values, in: table.layout) {
            case .scope(let found): scope = found
            case .unknown(let reason):
                try hold(entry, reason)
                return nil
            }
            let isElsewhere = scope.number != entry.remote.scope
            if isElsewhere, !entry.isPlaced { unplaced.insert(entry.ref) }
            guard let values else {
                return PushAssembly.Unsent(entry: entry, values: [:], layout: table.layout, scope: scope)
            }
            let goesWhole = (entry.generation > 1 && !entry.isKnownToServer) || entry.isRestored
            return PushAssembly.Unsent(
                entry: try entries.counting(entry), values: values, layout: table.layout, scope: scope,
                source: isElsewhere && entry.isPlaced ? try homes.scope(entry.remote.scope) : nil,
                unknown: goesWhole
                    ? try UnknownColumns(table.db).patch(at: entry.ref, in: table.layout) : RowPatch())
        }
    }

    /// A unit whose moved rows take along the rows below them. Rows of other units go without their unsent edits, which
    /// follow them (P4).
    mutating func withRowsBelow(_ unit: [PushAssembly.Unsent]) throws -> [PushAssembly.Unsent] {
        let below = RowsBelow(tables)
        var all = unit
        var places = Dictionary(unit.enumerated().map { ($1.entry.ref, $0) }, uniquingKeysWith: { $1 })
        for moved in unit {
            guard let source = moved.source else { continue }
            let children = try below.rows(below: moved.entry.ref) { try places[$0.ref] != nil || !movesByItself($0) }
            for child in children {
                if let place = places[child.ref] {
                    guard all[place].source == nil, all[place].entry.isPlaced,
                        all[place].entry.remote.scope == source.number
                    else { continue }
                    (all[place].scope, all[place].source) = (moved.scope, source)
                } else if var entry = try entries.entry(child.ref), entry.remote.isAlive,
                    entry.remote.scope == source.number
                {
                    entry.becomeClean()
                    entry.generation = entry.remote.generation
                    places[child.ref] = all.count
                    all.append(
                        PushAssembly.Unsent(
                            entry: entry, values: [:], layout: child.table.layout, scope: moved.scope, source: source))
                }
            }
        }
        return all
    }

    /// Whether the server has the row below another parent, from where the user moved it here.
    private func movesByItself(_ child: Child) throws -> Bool {
        guard let anchor = child.table.layout.anchor, let entry = try entries.entry(child.ref),
            entry.isMoved(by: anchor)
        else { return false }
        return try entry.baseValue(of: anchor) != child.table.values(child.ref.id)?[anchor.name]
    }

    /// Forgets a row that left the app's table, for example in the cascade of a received deletion.
    private mutating func forget(_ entry: RowEntry) throws {
        var entry = entry
        entry.becomeClean()
        entry.generation = entry.remote.generation
        try entries.save(entry)
    }

    /// Holds a row that the server cannot know, such as a row whose id is not a UUID because it was written before the
    /// store checked ids. It stays pending, with its counts.
    private mutating func hold(_ entry: RowEntry, _ reason: DeferralReason) throws {
        var entry = try entries.counting(entry)
        let due = now + PushResults.heldMilliseconds
        entry.local?.wait(until: due)
        try entries.save(entry)
        try WaitTable(entries.db).note(reason, of: entry.ref, until: due)
    }
}
