// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// A push that is ready to be sent, and the data for booking its verdicts.
struct PushBatch: Sendable {
    let push: Push
    let sent: [SentRow]

    /// How many parts it has that succeed or fail by themselves.
    var unitCount: Int { sent.count - push.groups.reduce(0) { $0 + $1.count - 1 } }
}

/// How much goes into one push.
struct PushLimit: Sendable, Equatable {
    var rows = 1_000
    var bytes = 4_000_000
}

extension Store {
    /// Says whether anything can be sent now and, if not, when the next row that was postponed is due.
    ///
    /// - Parameter paused: Tables that are left out.
    func pushOutlook(without paused: Set<String> = []) async throws -> (isSendable: Bool, nextDue: Duration?) {
        let now = correctedMilliseconds
        return try await read { db in
            let units = try SendableUnits(
                db, at: now, of: self.layouts, withheld: self.withheld(paused))
            if try !units.next(limit: 1).isEmpty { return (true, nil) }
            return (false, try units.nextDue().map { .milliseconds(max($0 - now, 1)) })
        }
    }

    /// Assembles the next push from the present state of the pending rows (S1), group by group (S2), and notes durably
    /// which values are sent.
    ///
    /// - Returns: Nil if none of the rows that were looked at can be sent now.
    func nextPush(_ limit: PushLimit, without paused: Set<String> = []) async throws -> PushBatch? {
        let now = correctedMilliseconds
        return try await apply { db in
            try UnseenSettling.keepEdited(self.layouts, db)
            if self.capture.launchOrigin == nil { try LaunchOrigin(db).move() }
            let sendable = try SendableUnits(db, at: now, of: self.layouts, withheld: self.withheld(paused))
            let tables = AppTables(self.layouts, db)
            var reading = UnitReading(entries: try RowEntryTable(db), tables: tables, now: now)
            var owners = LaterOwners(try RowEntryTable(db), tables, now: now)
            var assembly = PushAssembly(device: try DeviceIdentity.current(in: db), limit: limit)
            // Units that cannot be sent now are put away, and do not hold up those behind them.
            while assembly.rows.isEmpty {
                let units = try sendable.next(limit: limit.rows)
                // The units that were put off may be more than one transaction should touch.
                if units.isEmpty || owners.heldCount >= UnitScan.maxRows { break }
                for unit in units {
                    let unsent = try reading.unsent(unit)
                    if try owners.holdUp(unsent) { continue }
                    guard assembly.add(unsent) else { break }
                    owners.sent(unsent)
                }
            }
            if owners.heldCount > 0 { try GroupCircles(try RowEntryTable(db), tables).unite() }
            if assembly.rows.isEmpty { return nil }
            let noting = try RowStatement("UPDATE optimist_row SET sent = sent | ? WHERE tbl = ? AND id = ?", in: db)
            for sent in assembly.sent {
                try noting.execute([sent.mask.databaseValue, sent.ref.table.databaseValue, sent.ref.id])
            }
            let number = (try Meta.int(.push, in: db) ?? 0) + 1
            try Meta.set(.push, to: number, in: db)
            try Meta.set(.inFlight, to: number, in: db)
            return PushBatch(
                push: Push(
                    number: number, device: assembly.device, rows: assembly.rows, groups: assembly.groups,
                    origins: try DeviceIdentity.origins(in: db)),
                sent: assembly.sent)
        }
    }

    /// The tables that are not synced now: those that the network's price keeps back, and those that are left out.
    func withheld(_ paused: Set<String>) -> [TableLayout] {
        network.withheld(of: layouts) + layouts.filter { paused.contains($0.name) }
    }

    /// Takes back the note that a push was sent: it certainly was not. A row that was created and deleted meanwhile
    /// leaves no trace.
    func recall(_ batch: PushBatch) async throws {
        try await apply { db in
            guard try Meta.int(.inFlight, in: db) == batch.push.number else { return }
            try Meta.set(.inFlight, to: nil, in: db)
            var entries = try RowEntryTable(db)
            for sent in batch.sent {
                guard var entry = try entries.entry(sent.ref), entry.isPending else { continue }
                entry.sent = sent.sentBefore
                entry.endUnsentLife()
                try entries.save(entry)
            }
        }
    }

    /// Notes that a push is on its way no longer, and that its outcome is unknown. Nil: whichever there was.
    func pushEnded(_ batch: PushBatch? = nil) async throws {
        try await apply { db in
            guard let number = try Meta.int(.inFlight, in: db), batch == nil || batch?.push.number == number else {
                return
            }
            try Meta.set(.inFlight, to: nil, in: db)
        }
    }
}

/// Reads what is unsent of the rows of a unit.
private struct UnitReading {
    var entries: RowEntryTable
    let tables: AppTables
    let now: Int64

    mutating func unsent(_ unit: [RowEntry]) throws -> [PushAssembly.Unsent] {
        try unit.compactMap { entry in
            guard let table = tables[entry.ref.table] else { return nil }
            if table.layout.idForm.wire(entry.ref.id) == nil {
                try hold(entry)
                return nil
            }
            if !entry.isAlive { return PushAssembly.Unsent(entry: entry, values: [:], layout: table.layout) }
            guard let values = try table.values(entry.ref.id) else {
                try forget(entry)
                return nil
            }
            let goesWhole = (entry.generation > 1 && !entry.isKnownToServer) || entry.heals
            return PushAssembly.Unsent(
                entry: try entries.counting(entry), values: values, layout: table.layout,
                unknown: goesWhole
                    ? try UnknownColumns(table.db).patch(at: entry.ref, in: table.layout) : RowPatch())
        }
    }

    /// A row that is gone without a trace, as by a cascade of a received delete: there is nothing to send.
    private mutating func forget(_ entry: RowEntry) throws {
        var entry = entry
        entry.becomeClean()
        try entries.save(entry)
    }

    /// A row whose id the server cannot know, from before that was checked: it stays pending, and counts.
    private mutating func hold(_ entry: RowEntry) throws {
        var entry = try entries.counting(entry)
        let due = now + Booking.heldMilliseconds
        entry.due = due
        try entries.save(entry)
        try WaitTable(entries.db).note(WaitReason("invalidID"), of: entry.ref, until: due)
    }
}
