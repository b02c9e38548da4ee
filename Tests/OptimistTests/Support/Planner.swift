// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

struct Todo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"
    var id = UUID()
    var content: String
    var date = "2026-11-21"
    var priority = 0
    var done = false
    var alarm: Date?

    var wireID: String { id.uuidString.lowercased() }

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("todo") { db in
            try db.create(table: "todo") { t in
                t.primaryKey("id", .blob)
                t.column("content", .text).notNull().defaults(to: "")
                t.column("date", .text).notNull().defaults(to: "")
                t.column("priority", .integer).notNull().defaults(to: 0)
                t.column("done", .boolean).notNull().defaults(to: false)
                t.column("alarm", .datetime)
            }
        }
    }
}

final class Phone: Sendable {
    private let device: Device

    init(at milliseconds: Int64 = 1_790_000_000_000) throws {
        device = try Device([Todo.self], at: milliseconds, migrate: Todo.migrate)
    }

    var folder: URL { device.folder }
    var file: URL { device.file }
    var store: Store { device.store }
    var time: Mutexed<Int64> { device.time }

    func advance(_ milliseconds: Int64) { device.advance(milliseconds) }

    func reopen() throws { try device.open([Todo.self], migrate: Todo.migrate) }

    /// Keeps the file from growing, as on a full disk.
    func fillDisk() throws {
        try store.pool.writeWithoutTransaction { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
    }
}

extension Store {
    func entry(_ todo: Todo) async throws -> RowEntry? { try await entry(id: todo.id) }

    func entry(id: UUID) async throws -> RowEntry? {
        try await read { db in try RowEntryTable(db).entry(RowRef(table: 1, id: id.databaseValue)) }
    }

    func dirtyColumns(_ todo: Todo) async throws -> Set<String> {
        let entry = try await entry(todo)
        return Set(layouts[0].columns(in: entry?.dirty ?? 0).map(\.name))
    }

    func todos() async throws -> [Todo] { try await read { try Todo.order(Column("content")).fetchAll($0) } }

    func pendingCount() async throws -> Int { try await counts().pending }

    /// Pushes everything, and the server accepts it in one transaction.
    func pushAccepted(seq: Int64) async throws {
        while let batch = try await nextPush(PushLimit()) {
            try await apply(batch.sent.map { _ in .accepted(seq: seq) }, of: batch)
        }
    }
}

/// A row as the server sends it. All columns have the same clock, except that the column `later` has a later clock.
func pageRow(
    _ todo: Todo, seq: Int64, generation: Int = 1, device: String = "OtherPhone", stamp: Int64 = 1_790_000_000_000,
    later: String? = nil, _ values: JSONObject
) -> RemotePage.Row {
    var clocks = ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: stamp), device: device))
    if let later { clocks.exceptions[later] = WriteClock(stamp: Stamp(milliseconds: stamp + 60_000), device: device) }
    return RemotePage.Row(
        table: "todo", id: todo.wireID,
        content: .row(RowPatch(generation: generation, clocks: clocks, seq: seq, values: values)))
}

func tombstone(_ todo: Todo, seq: Int64, generation: Int = 2) -> RemotePage.Row {
    RemotePage.Row(
        table: "todo", id: todo.wireID,
        content: .deleted(
            Tombstone(
                generation: generation,
                clock: WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000), device: "OtherPhone"),
                seq: seq)))
}

extension RemotePush.Row.Change {
    /// The deletion in a push, without the versions that the user had read. Nil for other changes.
    var deletion: Tombstone? {
        guard case .delete(var tombstone) = self else { return nil }
        tombstone.read = nil
        return tombstone
    }
}

extension Store {
    /// The next pull of an engine whose remote does not have snapshots.
    func nextPull() async throws -> (tables: [String], cursor: String?) {
        let plan = PullPlan(tableProgress: try await tableProgress(), limit: 1, hasSnapshots: false)
        if plan.step == .removal {
            try await settleUnseen(.remove)
            return try await nextPull()
        }
        guard case .changes(let tables, let cursor) = plan.step else { return ([], nil) }
        return (tables, cursor)
    }

    func receive(
        _ rows: [RemotePage.Row], from: String, to cursor: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(
            try await apply(
                RemotePage(from: from, cursor: cursor, hasMore: false, rows: rows), to: ["todo"], initialCursor: "e1.0"),
            sourceLocation: sourceLocation)
    }
}
