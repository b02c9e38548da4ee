// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

/// Reads and writes `optimist_remote` and `optimist_edit` within one transaction.
struct RowEntryTable {
    let db: Database
    private var nodes: Nodes
    private let counters: CounterTable
    private let finding: RowStatement
    private let savingRemote: RowStatement
    private let savingEdit: RowStatement
    private let forgettingRemote: RowStatement
    private let forgettingEdit: RowStatement
    private var fresh: FreshEntries

    init(_ db: Database) throws {
        self.db = db
        nodes = try Nodes(in: db)
        counters = try CounterTable(db)
        finding = try RowStatement(
            """
            SELECT \(Self.columns(of: "e")) FROM (SELECT ?1 AS tbl, ?2 AS id) e
            LEFT JOIN optimist_edit l ON l.tbl = e.tbl AND l.id = e.id
            LEFT JOIN optimist_remote r ON r.tbl = e.tbl AND r.id = e.id
            """, in: db)
        savingRemote = try RowStatement(Self.upsert("optimist_remote", Self.remoteColumns), in: db)
        savingEdit = try RowStatement(Self.upsert("optimist_edit", Self.editColumns), in: db)
        forgettingRemote = try RowStatement("DELETE FROM optimist_remote WHERE tbl = ? AND id = ?", in: db)
        forgettingEdit = try RowStatement("DELETE FROM optimist_edit WHERE tbl = ? AND id = ?", in: db)
        fresh = try FreshEntries(db)
    }

    static let remoteColumns = [
        "generation", "seq", "clock", "node", "clocks", "known", "settled", "scope", "departure",
    ]
    private static let editColumns = [
        "generation", "grp", "place", "stamp", "stamps", "dirty", "sent", "base", "due", "blocked", "retries",
        "unread",
    ]

    /// The columns that ``decode(_:)`` reads, from the edit `l` and the server's word `r`.
    ///
    /// The alias `key` has the row's key.
    private static func columns(of key: String) -> String {
        (["\(key).tbl", "\(key).id"] + editColumns.map { "l.\($0)" } + remoteColumns.map { "r.\($0)" })
            .joined(separator: ", ")
    }

    /// A query for the entries of edits. The condition refers to the edits as `l`.
    ///
    /// - Parameter index: The index that SQLite must use. Nil lets SQLite choose.
    static func edits(by index: String?, where condition: String) -> String {
        """
        SELECT \(columns(of: "l")) FROM optimist_edit l \(index.map { "INDEXED BY \($0)" } ?? "")
        LEFT JOIN optimist_remote r ON r.tbl = l.tbl AND r.id = l.id WHERE \(condition)
        """
    }

    /// The rows with an edit, in sending order.
    static func unsent(_ db: Database) throws -> [RowRef] {
        try Row.fetchAll(db, sql: "SELECT tbl, id FROM optimist_edit ORDER BY grp, tbl, place")
            .map { RowRef(table: $0[0], id: $0[1]) }
    }

    private static func upsert(_ table: String, _ columns: [String]) -> String {
        """
        INSERT INTO \(table)(tbl, id, \(columns.joined(separator: ", ")))
        VALUES (?, ?, \(columns.map { _ in "?" }.joined(separator: ", ")))
        ON CONFLICT(tbl, id) DO UPDATE SET \(columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
        """
    }

    func entry(_ ref: RowRef) throws -> RowEntry? {
        guard let entry = try finding.first([ref.table.databaseValue, ref.id], decode), entry.generation != 0 else {
            return nil
        }
        return try counting(entry)
    }

    /// Adds the counters, which have their own table.
    func counting(_ entry: RowEntry) throws -> RowEntry {
        var entry = entry
        entry.counters = try counters.counters(of: entry.ref)
        return entry
    }

    /// Writes an entry, or removes it if its generation is zero.
    mutating func save(_ entry: RowEntry) throws {
        if entry.generation == 0 { return try forget(entry.ref) }
        assert(entry.isPending || entry.generation == entry.remote.generation, "\(entry)")
        let key = [entry.ref.table.databaseValue, entry.ref.id]
        try counters.save(entry.counters, of: entry.ref)
        if entry.remote == RemoteRow() {
            try forgettingRemote.execute(key)
        } else {
            try savingRemote.execute(key + encode(entry.remote))
        }
        if let local = entry.local {
            try savingEdit.execute(key + Self.encode(local, of: entry))
        } else {
            try forgettingEdit.execute(key)
        }
    }

    /// Whether a closed range of ids is unknown to the device.
    func isEmpty(_ table: Int64, from first: DatabaseValue, to last: DatabaseValue) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT NOT EXISTS (SELECT 1 FROM optimist_remote WHERE tbl = ?1 AND id BETWEEN ?2 AND ?3)
                    AND NOT EXISTS (SELECT 1 FROM optimist_edit WHERE tbl = ?1 AND id BETWEEN ?2 AND ?3)
                    """), arguments: [table, first, last]) ?? false
    }

    /// Adds the entry of a new row. Readable after ``writeFresh()``.
    mutating func addFresh(_ ref: RowRef, _ patch: RowPatch, in layout: TableLayout, _ scope: Int64) throws {
        var remote = RemoteRow(generation: patch.generation ?? 1, seq: patch.seq ?? 0, scope: scope)
        remote.hear(patch, in: layout)
        fresh.add([ref.table.databaseValue, ref.id] + (try encode(remote)))
    }

    /// Call this before reading any entry.
    mutating func writeFresh() throws { try fresh.write() }

    mutating func forget(_ ref: RowRef) throws {
        try forgettingRemote.execute([ref.table.databaseValue, ref.id])
        try forgettingEdit.execute([ref.table.databaseValue, ref.id])
        try counters.save([:], of: ref)
    }

    // MARK: - Coding

    /// The key of a lost life's clock in `optimist_edit.stamps`. No column has this name.
    static let lifeKey = "@life"

    func decode(_ row: RowColumns) throws -> RowEntry {
        var entry = RowEntry(ref: RowRef(table: row.int(0), id: row.value(1)))
        if let generation = row.optionalInt(14) { entry.remote = try decodeRemote(row, generation) }
        if let generation = row.optionalInt(2) {
            entry.local = try decodeEdit(row)
            entry.generation = Int(generation)
        } else {
            entry.generation = entry.remote.generation
        }
        return entry
    }

    private func decodeEdit(_ row: RowColumns) throws -> LocalEdit {
        var clocks = try row.text(6).map(Self.editClocks) ?? [:]
        let life = clocks.removeValue(forKey: Self.lifeKey)
        return LocalEdit(
            group: Stamp(rawValue: row.int(3)), place: row.int(4), stamp: Stamp(rawValue: row.int(5)), clocks: clocks,
            lostLife: life?.original, dirty: row.int(7), sent: row.int(8), unread: row.int(13),
            base: try row.text(9).map(Self.literals) ?? [:], due: row.optionalInt(10), blocked: row.text(11),
            retries: Int(row.int(12)))
    }

    private func decodeRemote(_ row: RowColumns, _ generation: Int64) throws -> RemoteRow {
        var clocks = ColumnClocks()
        let stamp = row.int(16)
        if stamp != 0 {
            clocks.common = WriteClock(stamp: Stamp(rawValue: stamp), device: try nodes.device(row.int(17)))
        }
        if let text = row.text(18) { clocks.exceptions = try Self.clocks(text) }
        return RemoteRow(
            generation: Int(generation), seq: row.int(15), clocks: clocks,
            presence: RemoteRow.Presence(stored: row.int(19)), lastAnsweredPush: row.int(20), scope: row.int(21),
            departure: row.text(22).flatMap(RemoteRow.Departure.init(stored:)))
    }

    private mutating func encode(_ remote: RemoteRow) throws -> [DatabaseValue] {
        let common = remote.clocks.common
        return [
            Int64(remote.generation).databaseValue, remote.seq.databaseValue,
            (common?.stamp.rawValue ?? 0).databaseValue,
            try common.map { try nodes.number(of: $0.device) }?.databaseValue ?? Int64(0).databaseValue,
            Self.text(remote.clocks.exceptions) { .string($0.description) }, remote.presence.stored.databaseValue,
            remote.lastAnsweredPush.databaseValue, remote.scope.databaseValue,
            remote.departure?.stored.databaseValue ?? .null,
        ]
    }

    private static func encode(_ edit: LocalEdit, of entry: RowEntry) -> [DatabaseValue] {
        var stamps = edit.clocks
        stamps[lifeKey] = edit.lostLife.map(EditClock.original)
        let clocks = text(stamps) { clock in
            switch clock {
            case .own(let stamp): .int(stamp.rawValue)
            case .original(let clock): .string(clock.description)
            }
        }
        // Triggers add base values only where `base` is not NULL.
        let base = text(edit.base) { .string($0) }
        return [
            Int64(entry.generation).databaseValue, edit.group.rawValue.databaseValue, edit.place.databaseValue,
            edit.stamp.rawValue.databaseValue, clocks, edit.dirty.databaseValue, edit.sent.databaseValue,
            base.isNull && entry.wasOnServer ? "{}".databaseValue : base,
            edit.due?.databaseValue ?? .null, edit.blocked?.databaseValue ?? .null, Int64(edit.retries).databaseValue,
            edit.unread.databaseValue,
        ]
    }

    private static func text<Value>(_ values: [String: Value], _ json: (Value) -> JSON) -> DatabaseValue {
        if values.isEmpty { return .null }
        let members = values.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }
        return JSON.object(JSONObject(members)).description.databaseValue
    }

    private static func clocks(_ text: String) throws -> [String: WriteClock] {
        guard let json = try? JSON(parsing: text.utf8), let clocks = ColumnClocks(json: json) else { throw damaged }
        return clocks.exceptions
    }

    private static func editClocks(_ text: String) throws -> [String: EditClock] {
        guard let members = (try? JSON(parsing: text.utf8))?.object else { throw damaged }
        return try Dictionary(
            uniqueKeysWithValues: members.compactMap { name, value in
                if value.isNull { return nil }
                if let stamp = value.int { return (name, .own(Stamp(rawValue: stamp))) }
                guard let clock = value.string.flatMap(WriteClock.init) else { throw damaged }
                return (name, .original(clock))
            })
    }

    private static func literals(_ text: String) throws -> [String: String] {
        guard let members = (try? JSON(parsing: text.utf8))?.object else { throw damaged }
        return try Dictionary(
            uniqueKeysWithValues: members.map { name, value in
                guard let literal = value.string else { throw damaged }
                return (name, literal)
            })
    }

    private static var damaged: OptimistError {
        OptimistError(
            .damagedMetadata,
            "The record of unsent changes cannot be read. No data was deleted. Keep this file and report the error.")
    }
}
