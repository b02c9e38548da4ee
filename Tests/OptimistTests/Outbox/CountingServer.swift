// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Synchronization
import Testing

@testable import Optimist

/// A record with counters: one that is never null, and one that may be.
struct Photo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "photo"
    static let syncRules = SyncRules(counters: ["likes", "views"])
    var id = UUID()
    var title = ""
    var likes = 0
    var views: Int?

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("photo") { db in
            try db.create(table: "photo") { t in
                t.primaryKey("id", .blob)
                t.column("title", .text).notNull().defaults(to: "")
                t.column("likes", .integer).notNull().defaults(to: 0)
                t.column("views", .integer)
            }
        }
    }
}

/// A device with tables of one's own choice, on a clock that a test moves. Not durable, so that tests are fast.
final class Device: Sendable {
    let folder: URL
    private let time: Mutex<Int64>
    private let opened: Mutex<Store?>

    init(
        _ synced: [any SyncedRecord.Type], at milliseconds: Int64 = 1_790_000_000_000,
        migrate: (inout DatabaseMigrator) -> Void
    ) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        time = Mutex(milliseconds)
        opened = Mutex(nil)
        try open(synced, migrate: migrate)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var file: URL { folder.appending(path: "app.sqlite") }
    var store: Store {
        guard let store = opened.withLock({ $0 }) else { preconditionFailure("the device could not open its file") }
        return store
    }

    func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }

    /// Opens the file, as after a relaunch or an update of the app.
    func open(_ synced: [any SyncedRecord.Type], migrate: (inout DatabaseMigrator) -> Void) throws {
        opened.withLock { $0 = nil }
        let store = try Store(
            at: file, synced: synced, durability: .normal,
            surroundings: Surroundings(now: { [weak self] in
                Date(timeIntervalSince1970: Double(self?.time.withLock { $0 } ?? 0) / 1000)
            }), migrate: migrate)
        opened.withLock { $0 = store }
    }

    func execute(_ sql: String, _ arguments: StatementArguments = []) async throws {
        try await store.write { try $0.execute(sql: sql, arguments: arguments) }
    }

    func next() async throws -> PushBatch? { try await store.nextPush(PushLimit()) }
}

/// A server that counts, as small as the rule: of each origin the later clock, of equal clocks the larger total.
final class CountingServer: Sendable {
    private struct StoredRow {
        var merged = MergeRow()
        var totals: [String: [String: RunningTotal]] = [:]
        var seq: Int64 = 0
    }

    private struct State {
        var seq: Int64 = 0
        var rows: [String: [String: StoredRow]] = [:]
    }

    private let counters: Set<String>
    private let editWins: Bool
    private let state = Mutex(State())

    init(counters: Set<String> = ["likes", "views"], editWins: Bool = false) {
        self.counters = counters
        self.editWins = editWins
    }

    func push(_ push: Push, refusing refuse: (PushRow) -> Refusal? = { _ in nil }) -> [Verdict] {
        state.withLock { state in
            let seq = state.seq + 1
            var hasChanged = false
            let verdicts = push.rows.map { row -> Verdict in
                var stored = state.rows[row.table]?[row.id] ?? StoredRow()
                if var refusal = refuse(row) {
                    if stored.merged.isAlive { refusal.current = patch(stored, push.origins) }
                    return .rejected(refusal)
                }
                let before = stored
                let verdict = merge(row.change, into: &stored, origins: push.origins, seq: seq)
                if stored.merged != before.merged || stored.totals != before.totals {
                    stored.seq = seq
                    hasChanged = true
                }
                state.rows[row.table, default: [:]][row.id] = stored
                return verdict
            }
            if hasChanged { state.seq = seq }
            return verdicts.map { verdict in
                switch verdict {
                case .accepted: .accepted(seq: state.seq)
                case .merged(_, let won): .merged(seq: state.seq, won)
                default: verdict
                }
            }
        }
    }

    private func merge(
        _ change: PushRow.Change, into stored: inout StoredRow, origins: [String], seq: Int64
    ) -> Verdict {
        switch change {
        case .delete(let tombstone):
            let former = stored
            if stored.merged.merge(MergeRow(generation: tombstone.generation, deletion: tombstone.clock)).lifeChanged {
                if editWins, former.merged.generation == tombstone.generation - 1 {
                    stored.merged.cells = former.merged.cells
                    revive(&stored)
                } else {
                    stored.merged.cells = [:]
                    stored.totals = [:]
                }
            }
            return .accepted(seq: seq)
        case .create(let patch), .update(let patch):
            let life = patch.generation ?? 1
            if editWins, [1, 2].contains(stored.merged.generation - life) {
                let late = patch.values.compactMap { name, value in
                    patch.clocks?[name].map { (name, Cell(value, $0)) }
                }
                var row = MergeRow(generation: 1, cells: stored.merged.cells)
                row.merge(MergeRow(generation: 1, cells: Dictionary(late, uniquingKeysWith: { $1 })))
                stored.merged.cells = row.cells
                revive(&stored)
            }
            if life < stored.merged.generation {
                return stored.merged.isAlive ? .merged(seq: seq, self.patch(stored, origins)) : .gone
            }
            if life > stored.merged.generation { stored.totals = [:] }
            var incoming = MergeRow(generation: life)
            var lost: Set<String> = []
            for (name, value) in patch.values {
                guard let clock = patch.clocks?[name] else { continue }
                if !counters.contains(name) {
                    incoming.cells[name] = Cell(value, clock)
                    continue
                }
                for total in [RunningTotal](json: value, clock: clock) ?? [] {
                    let present = stored.totals[name]?[total.clock.device]
                    if let present, (present.clock, present.total) > (total.clock, total.total) {
                        lost.insert(name)
                    } else {
                        stored.totals[name, default: [:]][total.clock.device] = total
                    }
                }
            }
            lost.formUnion(stored.merged.merge(incoming).refused)
            if lost.isEmpty { return .accepted(seq: seq) }
            var won = self.patch(stored, origins)
            won.values = JSONObject(won.values.members.filter { lost.contains($0.key) })
            return .merged(seq: seq, won)
        }
    }

    /// A deleted row lives again if a column is later than the deletion.
    private func revive(_ stored: inout StoredRow) {
        guard !stored.merged.isAlive, let deletion = stored.merged.deletion,
            stored.merged.cells.values.contains(where: { $0.clock > deletion })
        else { return }
        stored.merged.generation += 1
        stored.merged.deletion = nil
    }

    private func patch(_ stored: StoredRow, _ origins: [String]) -> RowPatch {
        var values = stored.merged.cells.mapValues(\.value)
        var clocks = stored.merged.cells.mapValues(\.clock)
        var mine: [String: [String: Int64]] = [:]
        for counter in counters {
            let totals = stored.totals[counter] ?? [:]
            values[counter] = .int(totals.values.reduce(0) { $0 + $1.total })
            clocks[counter] = totals.values.map(\.clock).max()
            for origin in origins { mine[counter, default: [:]][origin] = totals[origin]?.total }
        }
        return RowPatch(
            generation: stored.merged.generation, clocks: ColumnClocks(packing: clocks), seq: stored.seq,
            values: JSONObject(values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }), mine: mine)
    }

    func pull(_ request: PullRequest) -> Page {
        state.withLock { state in
            let since = SyncState(request.cursor)?.seq ?? 0
            let changed = request.tables.flatMap { table in
                (state.rows[table] ?? [:]).filter { $0.value.seq > since }.map { (table, $0.key, $0.value) }
            }.sorted { ($0.2.seq, $0.1) < ($1.2.seq, $1.1) }
            let end = changed.count > request.limit ? changed[request.limit - 1].2.seq : state.seq
            return Page(
                from: request.cursor, cursor: "e1.\(end)", hasMore: end < state.seq,
                rows: changed.filter { $0.2.seq <= end }.map { table, id, row in
                    let tombstone = Tombstone(
                        generation: row.merged.generation, clock: row.merged.deletion, seq: row.seq)
                    return PageRow(
                        table: table, id: id,
                        content: row.merged.isAlive ? .row(patch(row, request.origins)) : .deleted(tombstone))
                })
        }
    }

    /// The living rows of a table, without their nulls.
    func rows(_ table: String) -> [String: JSONObject] {
        state.withLock { state in
            (state.rows[table] ?? [:]).filter(\.value.merged.isAlive).mapValues { row in
                JSONObject(patch(row, []).values.members.filter { !$0.value.isNull })
            }
        }
    }

    /// The sums of a counter by row.
    func sums(_ table: String, _ counter: String) -> [String: Int64] {
        state.withLock { state in
            (state.rows[table] ?? [:]).filter(\.value.merged.isAlive).mapValues { row in
                row.totals[counter]?.values.reduce(0) { $0 + $1.total } ?? 0
            }
        }
    }
}

extension Device {
    func pull(from server: CountingServer, limit: Int = 100) async throws -> Page {
        let next = try await store.nextPull()
        return server.pull(
            PullRequest(
                tables: next.tables, cursor: next.cursor ?? "e1.0", limit: limit, origins: try await store.origins()))
    }

    /// The rows of a table in the server's words, without their nulls.
    func rows(_ table: String) async throws -> [String: JSONObject] {
        let layout = try #require(store.layout(named: table))
        return try await store.read { db in
            let ids = try DatabaseValue.fetchAll(db, sql: "SELECT id FROM \(table)")
            return try Dictionary(
                uniqueKeysWithValues: ids.map { id in
                    let values = try AppTable(layout: layout, db: db).values(id) ?? [:]
                    return (layout.idForm.wire(id) ?? "", JSONObject(values.members.filter { !$0.value.isNull }))
                })
        }
    }

    func apply(_ page: Page) async throws {
        try await store.apply(page, to: store.layouts.map(\.name), initialCursor: "e1.0")
    }

    /// Pushes and pulls everything.
    func sync(with server: CountingServer, refusing refuse: (PushRow) -> Refusal? = { _ in nil }) async throws {
        while let batch = try await next() {
            try await store.book(server.push(batch.push, refusing: refuse), of: batch)
        }
        while true {
            let page = try await pull(from: server)
            try await apply(page)
            if !page.hasMore { break }
        }
    }
}
