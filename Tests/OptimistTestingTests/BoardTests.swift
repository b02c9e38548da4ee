// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import TestForm
import Testing

@Suite("A backend of your own", .timeLimit(.minutes(20)))
struct BoardTests {
    struct Note: Codable, Identifiable, SyncedRecord {
        static let syncRules = SyncRules(counters: ["likes"])
        var id = UUID()
        var text: String
        var likes = 0
    }

    static let app = SimulatedApp(synced: [Note.self]) { migrator in
        migrator.registerMigration("1") { db in
            try db.create(table: "note") { table in
                table.primaryKey("id", .blob)
                table.column("text", .text).notNull()
                table.column("likes", .integer).notNull().defaults(to: 0)
            }
        }
    }

    @Test(arguments: 1...TestForm.of(short: 3, full: 20) as ClosedRange<UInt64>)
    func `B4 devices sync over the article's remote, although messages are lost and a device is killed`(
        seed: UInt64
    ) throws {
        let board = Board()
        let simulation = Simulation(seed: seed, app: Self.app) { _ in BoardRemote(board: board) }
        defer { simulation.end() }
        let devices = [simulation.device("phone"), simulation.device("tablet")]
        let ids = (0..<4).map { UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)") ?? UUID() }
        try devices[0].write { db in for id in ids { try Note(id: id, text: "a").insert(db) } }
        try simulation.settle()
        for device in devices { device.link.conditions = .flaky }
        for id in ids {
            for device in devices {
                try device.write {
                    try $0.execute(sql: "UPDATE note SET likes = likes + 1 WHERE id = ?", arguments: [id])
                }
            }
            simulation.run(for: .seconds(20))
        }
        devices[0].kill(afterJobs: Int(seed) * 7)
        try devices[1].write { db in _ = try Note.deleteOne(db, key: ids[0]) }
        simulation.run(for: .seconds(60))
        try simulation.settle()
        for device in devices {
            let notes = try device.read { try Note.order(Column("id")).fetchAll($0) }
            #expect(notes.map(\.id) == Array(ids.dropFirst()))
            #expect(notes.map(\.likes) == [2, 2, 2])
        }
    }

    @Test func `B5 a remote may judge only some rows of a push, and the others are sent again`() throws {
        let board = Board()
        let simulation = Simulation(seed: 1, app: Self.app) { _ in OneByOne(base: BoardRemote(board: board)) }
        defer { simulation.end() }
        let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
        for number in 0..<5 { try phone.write { try Note(id: UUID(), text: "\(number)").insert($0) } }
        try simulation.settle()
        #expect(try tablet.read { try Note.fetchCount($0) } == 5)
    }

    @Test func `B6 a table that the remote does not keep for this user does not affect the others`() throws {
        let app = SimulatedApp(synced: [Note.self, Diary.self]) { migrator in
            Self.app.migrate(&migrator)
            migrator.registerMigration("2") { db in
                try db.create(table: "diary") { table in
                    table.primaryKey("id", .blob)
                    table.column("text", .text).notNull()
                }
            }
        }
        let board = Board()
        let simulation = Simulation(seed: 1, app: app) { _ in BoardRemote(board: board) }
        defer { simulation.end() }
        let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
        try phone.write { try Note(id: UUID(), text: "a").insert($0) }
        try phone.write { try Diary(id: UUID(), text: "b").insert($0) }
        try simulation.settle()
        #expect(try tablet.read { try Note.fetchCount($0) } == 1)
        #expect(try phone.perform { try await $0.store.rejections().map(\.code) } == ["forbidden"])
    }
}

/// A table that the board does not have.
private struct Diary: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var text: String
}

/// Sends only the first row of a push.
private struct OneByOne: Remote {
    let base: BoardRemote

    var guarantees: RemoteGuarantees { base.guarantees }
    func connect() async throws -> RemoteAccount { try await base.connect() }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await base.pull(request) }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { try await base.listen(receive) }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        var first = push
        (first.rows, first.groups) = (Array(push.rows.prefix(1)), [])
        return RemotePush.Answer(try await base.push(first).verdicts, of: push)
    }
}
