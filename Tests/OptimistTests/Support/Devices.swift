// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

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

/// A device with the test's choice of tables, on a clock that the test moves. Not durable, so that tests are fast.
final class Device: Sendable {
    let folder: URL
    /// Milliseconds since 1970.
    let time: Mutexed<Int64>
    private let opened: Mutex<Store?>

    init(
        _ synced: [any SyncedRecord.Type], at milliseconds: Int64 = 1_790_000_000_000,
        migrate: (inout DatabaseMigrator) -> Void
    ) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        time = Mutexed(milliseconds)
        opened = Mutex(nil)
        try open(synced, migrate: migrate)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var file: URL { folder.appending(path: "app.sqlite") }
    var store: Store {
        guard let store = opened.withLock({ $0 }) else { preconditionFailure("the device could not open its file") }
        return store
    }

    func advance(_ milliseconds: Int64) { time.value += milliseconds }

    /// Opens the file, as after a relaunch or an update of the app.
    func open(_ synced: [any SyncedRecord.Type], migrate: (inout DatabaseMigrator) -> Void) throws {
        opened.withLock { $0 = nil }
        let time = time
        let store = try Store(
            at: file, synced: synced, durability: .normal,
            dependencies: Dependencies(now: { Date(timeIntervalSince1970: Double(time.value) / 1000) }),
            migrate: migrate)
        opened.withLock { $0 = store }
    }

    func execute(_ sql: String, _ arguments: StatementArguments = []) async throws {
        try await store.write { try $0.execute(sql: sql, arguments: arguments) }
    }

    func next() async throws -> PushBatch? { try await store.nextPush(PushLimit()) }
}

/// The in-memory server for the apps of these tests, with a fixed time of day.
final class AppServer: Sendable {
    private let server: InMemoryServer
    private let refusing: Mutexed<(@Sendable (RemotePush.Row) -> RemotePush.Refusal?)?>

    private let schema: Schema
    static let apps = Schema(
        id: "apps",
        types: [
            "photo": TypeSchema(columns: [
                "title": ColumnSchema(.string), "likes": ColumnSchema(.counter), "views": ColumnSchema(.counter),
            ]),
            "note": TypeSchema(
                columns: [
                    "title": ColumnSchema(.string), "body": ColumnSchema(.string), "likes": ColumnSchema(.counter),
                ], editWins: true),
            "item": TypeSchema(columns: [
                "title": ColumnSchema(.string), "note": ColumnSchema(.string), "colour": ColumnSchema(.string),
                "likes": ColumnSchema(.counter),
            ]),
            "tag": TypeSchema(columns: ["word": ColumnSchema(.string)]),
        ])

    init(_ schema: Schema = AppServer.apps) {
        let refusing = Mutexed<(@Sendable (RemotePush.Row) -> RemotePush.Refusal?)?>(nil)
        self.refusing = refusing
        self.schema = schema
        server = InMemoryServer(
            schema: schema, validate: { row in refusing.value?(row).map { .rejected($0) } },
            now: { Date(timeIntervalSince1970: 1_790_100_000) })
    }

    func push(_ push: RemotePush, refusing refuse: (@Sendable (RemotePush.Row) -> RemotePush.Refusal?)? = nil)
        async throws -> [RemotePush.Verdict]
    {
        refusing.value = refuse
        defer { refusing.value = nil }
        return try await InMemoryRemote(server).push(push).verdicts
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        try await InMemoryRemote(server).pull(request)
    }

    /// The living rows of a table, without nulls, and with zero for counters without a count.
    func rows(_ table: String) -> [String: JSONObject] {
        let counters = schema.types[table]?.columns.filter { $0.value.type == .counter }.keys.sorted() ?? []
        return server.rows(table).mapValues { values in
            var values = JSONObject(values.members.filter { !$0.value.isNull })
            for counter in counters where values[counter] == nil { values[counter] = 0 }
            return values
        }
    }

    func sums(_ table: String, _ counter: String) -> [String: Int64] {
        rows(table).mapValues { $0[counter]?.int ?? 0 }
    }
}

final class Mutexed<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>
    init(_ value: Value) { mutex = Mutex(value) }
    var value: Value {
        get { mutex.withLock { $0 } }
        set { mutex.withLock { $0 = newValue } }
    }
}

extension Device {
    func pull(from server: AppServer, limit: Int = 100) async throws -> RemotePage {
        let next = try await store.nextPull()
        return try await server.pull(
            RemotePage.Request(
                tables: next.tables, cursor: next.cursor ?? "m.0", limit: limit, origins: try await store.origins()))
    }

    /// The rows of a table in wire form, without nulls.
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

    func apply(_ page: RemotePage, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(
            try await store.apply(page, to: store.layouts.map(\.name), initialCursor: "m.0"),
            sourceLocation: sourceLocation)
        try await store.settleUnseen(.remove)
    }

    /// Checks once in each launch whether the file went back.
    private func checkForRewind(with server: AppServer) async throws {
        guard let check = try await store.rewindChecks().first else { return }
        do {
            _ = try await server.push(check)
            store.countUnderOwnID()
        } catch RemoteFailure.pushRewound { try await store.renewDeviceID() }
    }

    func push(to server: AppServer, refusing refuse: (@Sendable (RemotePush.Row) -> RemotePush.Refusal?)? = nil)
        async throws
    {
        while let batch = try await next() {
            try await store.apply(try await server.push(batch.push, refusing: refuse), of: batch)
        }
    }

    func sync(with server: AppServer, refusing refuse: (@Sendable (RemotePush.Row) -> RemotePush.Refusal?)? = nil)
        async throws
    {
        try await checkForRewind(with: server)
        try await push(to: server, refusing: refuse)
        while true {
            let page = try await pull(from: server)
            try await apply(page)
            if !page.hasMore { break }
        }
    }
}
