// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// A push that is ready to go, with what is needed to book its verdicts.
struct PushBatch: Sendable {
    let push: Push
    let sent: [SentRow]
}

/// How much goes into one push.
struct PushLimit: Sendable, Equatable {
    var rows = 1_000
    var bytes = 4_000_000
}

extension Store {
    /// Says whether anything can be sent now and, if not, when the next row that was postponed is due.
    func pushOutlook() async throws -> (isSendable: Bool, nextDue: Duration?) {
        let now = milliseconds
        return try await read { db in
            if try !RowEntryTable(db).sendable(at: now, limit: 1, of: self.layouts).isEmpty { return (true, nil) }
            let due = try Int64.fetchOne(
                db.cachedStatement(
                    sql: "SELECT min(due) FROM optimist_row WHERE pending IS NOT NULL AND due IS NOT NULL"))
            return (false, due.map { .milliseconds(max($0 - now, 1)) })
        }
    }

    /// Assembles the next push from the present state of what is pending (S1), and notes durably what is sent.
    ///
    /// - Returns: Nil if nothing is to be sent now.
    func nextPush(_ limit: PushLimit) async throws -> PushBatch? {
        let now = milliseconds
        return try await apply { db in
            var entries = try RowEntryTable(db)
            let tables = AppTables(self.layouts, db)
            let sendable = try entries.sendable(at: now, limit: limit.rows, of: self.layouts)
            if sendable.isEmpty { return nil }
            let device = try DeviceIdentity.current(in: db)
            var assembly = PushAssembly(device: device, byteLimit: limit.bytes)
            for entry in sendable {
                guard let table = tables[entry.ref.table] else { continue }
                let values = entry.isAlive ? try table.values(entry.ref.id) : [:]
                guard let values else {
                    try Self.forget(entry, in: &entries)
                    continue
                }
                guard assembly.add(try entries.counting(entry), values: values, layout: table.layout) else { break }
            }
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
                    number: number, device: device, rows: assembly.rows, origins: try DeviceIdentity.origins(in: db)),
                sent: assembly.sent)
        }
    }

    /// Takes back the note that a push was sent: it certainly was not. What was made and deleted meanwhile leaves no trace.
    func recall(_ batch: PushBatch) async throws {
        try await apply { db in
            guard try Meta.int(.inFlight, in: db) == batch.push.number else { return }
            try Meta.set(.inFlight, to: nil, in: db)
            for sent in batch.sent {
                try db.cachedStatement(sql: "UPDATE optimist_row SET sent = ? WHERE tbl = ? AND id = ?")
                    .execute(arguments: [sent.sentBefore, sent.ref.table, sent.ref.id])
                try db.cachedStatement(
                    sql: """
                        DELETE FROM optimist_row
                        WHERE tbl = ? AND id = ? AND generation & 1 = 0 AND acked = 0 AND sent = 0
                        """
                ).execute(arguments: [sent.ref.table, sent.ref.id])
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

    /// A row that is gone without a trace, as by a cascade of a received delete: there is nothing to send.
    private static func forget(_ entry: RowEntry, in entries: inout RowEntryTable) throws {
        var entry = entry
        entry.becomeClean()
        try entries.save(entry)
    }
}

/// Collects the rows of a push. Pure.
struct PushAssembly {
    let device: String
    let byteLimit: Int
    private(set) var rows: [PushRow] = []
    private(set) var sent: [SentRow] = []
    private var bytes = 0

    init(device: String, byteLimit: Int) {
        self.device = device
        self.byteLimit = byteLimit
    }

    /// Adds a row's unsent state. Returns whether there was room: the first row always finds some.
    mutating func add(_ entry: RowEntry, values: JSONObject, layout: TableLayout) -> Bool {
        guard let id = layout.idForm.wire(entry.ref.id) else { return true }
        let kind: SentRow.Kind = !entry.isAlive ? .delete : entry.isKnownToServer ? .update : .create
        let columns = kind == .delete ? [] : unsent(entry, values, layout)
        let totals = entry.pushedTotals(of: columns)
        let patch = JSONObject(
            columns.compactMap { column in
                column.isCounter
                    ? totals[column.name].map { (column.name, $0.json) }
                    : (column.name, values[column.name] ?? .null)
            })
        let size = 120 + patch.members.reduce(0) { $0 + $1.key.utf8.count + Self.size($1.value) }
        guard rows.isEmpty || bytes + size <= byteLimit else { return false }
        bytes += size
        rows.append(PushRow(table: layout.name, id: id, change: change(kind, entry, patch, totals)))
        sent.append(
            SentRow(
                ref: entry.ref, kind: kind, generation: entry.generation, mask: entry.dirty, lifeStamp: entry.lifeStamp,
                stamps: Dictionary(
                    uniqueKeysWithValues: layout.columns(in: entry.dirty).map {
                        ($0.name, entry.unsentStamp(of: $0.name))
                    }),
                values: patch, totals: totals, sentBefore: entry.sent))
        return true
    }

    /// A new row goes without its nulls, which are the default of every column, but for those written later than the row:
    /// they may stand against a value that an unanswered push brought. The same state always gives the same push (S3).
    private func unsent(_ entry: RowEntry, _ values: JSONObject, _ layout: TableLayout) -> [TableLayout.Column] {
        let isNew = entry.dirty & TableLayout.lifeMask != 0
        return layout.columns(in: entry.dirty).filter { column in
            !isNew || values[column.name]?.isNull == false || column.isCounter
                || entry.unsentStamp(of: column.name) != entry.pending
        }
    }

    private func change(
        _ kind: SentRow.Kind, _ entry: RowEntry, _ values: JSONObject, _ totals: [String: [RunningTotal]]
    ) -> PushRow.Change {
        let common = Clock(stamp: entry.lifeStamp, device: device)
        if kind == .delete { return .delete(Tombstone(generation: entry.generation, clock: common)) }
        var clocks = ColumnClocks(common: common)
        for (name, _) in values {
            let clock = totals[name]?.latestClock ?? Clock(stamp: entry.unsentStamp(of: name), device: device)
            if clock != common { clocks.exceptions[name] = clock }
        }
        let patch = RowPatch(generation: entry.generation, clocks: clocks, values: values)
        return kind == .create ? .create(patch) : .update(patch)
    }

    private static func size(_ value: JSON) -> Int {
        switch value {
        case .string(let text): text.utf8.count + 4
        case .array, .object: value.bytes.count
        default: 12
        }
    }
}
