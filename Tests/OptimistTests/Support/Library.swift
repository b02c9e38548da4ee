// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Shelves hold books. Tags are independent and come first by priority.
struct Shelf: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "shelf"
    var id = UUID()
    var name: String?
}

struct Book: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "book"
    var id = UUID()
    var title: String?
    var pages: Int?
    var shelfID: UUID?
}

struct Tag: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "tag"
    static let syncRules = SyncRules(priority: 5)
    var id = UUID()
    var name: String?
}

/// A device that syncs a library with a ``FakeBackend``.
final class Reader: Sendable {
    let clock = ManualClock()
    let backend: FakeBackend
    let folder: URL
    /// Milliseconds since 1970 on the device's clock at the start.
    let wallClock: Mutex<Int64>
    private let tables: [any SyncedRecord.Type]
    private let opened: Mutex<Store>
    private let running = Mutex<(engine: SyncEngine, task: Task<Void, Never>)?>(nil)

    init(_ backend: FakeBackend, at milliseconds: Int64 = 1_790_000_000_000, hasTags: Bool = true) throws {
        self.backend = backend
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        wallClock = Mutex(milliseconds)
        tables = [Book.self, Shelf.self] + (hasTags ? [Tag.self] : [])
        opened = try Mutex(Self.open(folder, tables, clock, now: { milliseconds }))
        try reopen()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var store: Store { opened.withLock { $0 } }
    var milliseconds: Int64 { wallClock.withLock { $0 } + clock.elapsed.milliseconds }

    /// Opens the file again, as after a relaunch or an update that adds tags.
    func reopen(hasTags: Bool = false) throws {
        let store = try Self.open(folder, hasTags ? tables + [Tag.self] : tables, clock) { [weak self] in
            self?.milliseconds ?? 0
        }
        opened.withLock { $0 = store }
    }

    private static func open(
        _ folder: URL, _ tables: [any SyncedRecord.Type], _ clock: ManualClock, now: @escaping @Sendable () -> Int64
    ) throws -> Store {
        try Store(
            at: folder.appending(path: "library.sqlite"), synced: tables, durability: .normal,
            dependencies: Dependencies(
                clock: clock, now: { Date(timeIntervalSince1970: Double(now()) / 1000) }, seed: 7)
        ) { migrator in
            migrator.registerMigration("library") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE book(id BLOB PRIMARY KEY NOT NULL, title TEXT, pages INTEGER,
                        shelfID BLOB REFERENCES shelf(id));
                        CREATE TABLE shelf(id BLOB PRIMARY KEY NOT NULL, name TEXT);
                        CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, name TEXT);
                        """)
            }
        }
    }

    @discardableResult
    func start(
        onMassRemoval: (@Sendable (MassRemoval) async -> MassRemoval.Decision)? = { _ in .remove }
    ) -> SyncEngine {
        let (store, backend, reachability) = (store, backend, ManualReachability())
        let engine =
            onMassRemoval.map {
                SyncEngine(store: store, remote: backend, reachability: reachability, onMassRemoval: $0)
            } ?? SyncEngine(store: store, remote: backend, reachability: reachability)
        let task = Task { await engine.run() }
        running.withLock { $0 = (engine, task) }
        return engine
    }

    /// Syncs while only one or two requests are answered, kills the launch after three requests, and opens the file
    /// again.
    ///
    /// - Parameter run: The number of the launch.
    func syncKilled(run: Int) async throws {
        backend.settings.withLock { $0.answers = 1 + run % 2 }
        start()
        let before = backend.requests.count
        let passing = Task { await pass { false } }
        while !Task.isCancelled, backend.requests.count < before + 3 { await Task.yield() }
        passing.cancel()
        await stop()
        await passing.value
        try reopen()
    }

    /// Stops like a crash: the server is not notified.
    func stop() async {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        running?.task.cancel()
        await running?.task.value
    }

    func until(_ condition: @escaping @Sendable (Store) async throws -> Bool) async throws {
        let changes = store.changes.stream()
        if try await condition(store) { return }
        try await changes.reach { _ in try await condition(store) }
    }

    /// Waits until another pull was answered, everything was received and sent, and the engine is idle, while the clock
    /// advances.
    func untilSettled() async throws {
        let pages = backend.pages
        try await pass(.seconds(1)) {
            guard backend.pages > pages, try await isIdle(store) else { return false }
            return try await store.counts().pending == 0
        }
    }

    /// Advances the clock until a condition holds, but not while the engine pushes or pulls.
    func pass(_ step: Duration? = nil, until holds: () async throws -> Bool) async rethrows {
        try await clock.pass(step, for: engine, until: holds)
    }

    private var engine: SyncEngine? { running.withLock { $0?.engine } }

    private func isIdle(_ store: Store) async throws -> Bool {
        guard let engine, try await engine.statuses.current().phase == .idle else { return false }
        return try await store.tableProgress().allSatisfy { $0.isComplete && $0.at == nil }
    }

    func sync() async throws {
        start()
        try await untilSettled()
        await stop()
    }

    func write(_ sql: String, _ arguments: StatementArguments = []) async throws {
        try await store.write { try $0.execute(sql: sql, arguments: arguments) }
    }

    /// The rows of a table in wire form, without nulls.
    func rows(_ table: String) async throws -> [String: JSONObject] {
        guard let layout = store.layout(named: table) else { return [:] }
        return try await store.read { db in
            let table = AppTable(layout: layout, db: db)
            var rows: [String: JSONObject] = [:]
            for id in try Row.fetchAll(db, sql: "SELECT id FROM \(layout.name)").map({ $0[0] as DatabaseValue }) {
                let values = try table.values(id)?.members.filter { !$0.value.isNull }.sorted { $0.key < $1.key }
                rows[layout.idForm.wire(id) ?? ""] = JSONObject(values ?? [])
            }
            return rows
        }
    }

    func isEqualToBackend() async throws -> Bool {
        for layout in store.layouts where try await rows(layout.name) != backend.rows(layout.name) { return false }
        return true
    }
}

/// Ids in the order of their numbers.
func id(_ number: Int) -> UUID {
    let digits = String(number, radix: 16)
    return UUID(uuidString: "00000000-0000-4000-8000-\(String(repeating: "0", count: 12 - digits.count))\(digits)")
        ?? UUID()
}
