// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistTesting
import OptimistWire
import Synchronization
import Testing

@Suite("Simulated devices", .timeLimit(.minutes(2)))
struct DeviceTests {
    struct Note: Codable, Identifiable, SyncedRecord {
        var id = UUID()
        var text: String
    }

    static let app = SimulatedApp(synced: [Note.self]) { migrator in
        migrator.registerMigration("1") { db in
            try db.create(table: "note") { table in
                table.primaryKey("id", .blob)
                table.column("text", .text).notNull()
            }
        }
    }
    static let schema = Schema(
        id: "notes", types: ["note": TypeSchema(columns: ["text": ColumnSchema(.string, isRequired: true)])])

    @Test func `two devices converge, whatever is lost and whoever is killed`() throws {
        let scheduler = SimulatedScheduler(seed: 1)
        let server = SimulatedServer(scheduler: scheduler, schema: Self.schema, seed: 2)
        try server.start()
        let devices = (0..<2).map { number in
            SimulatedDevice(
                name: "phone \(number)", app: Self.app, scheduler: scheduler, server: server, seed: UInt64(number))
        }
        let written = Mutex(0)
        for (number, device) in devices.enumerated() {
            device.link.conditions = .flaky
            device.start()
            scheduler.run(for: .seconds(30)) { device.launch != nil }
            let launch = try #require(device.launch)
            launch.process.spawn {
                for round in 0..<20 {
                    do {
                        _ = try await launch.store.write { db in
                            try Note(id: UUID(), text: "\(number) \(round)").insert(db)
                        }
                        written.withLock { $0 += 1 }
                    } catch { Issue.record(error) }
                }
            }
            device.kill(afterJobs: 200)
            scheduler.run(for: .seconds(60))
        }
        for device in devices {
            device.link.conditions = .perfect
            device.start()
        }
        scheduler.run(for: .seconds(300))
        let texts = try devices.map { device in
            try DatabaseQueue(path: device.disk.mount().url(SimulatedDevice.fileName).path).read { db in
                try String.fetchAll(db, sql: "SELECT text FROM note ORDER BY text")
            }
        }
        print(scheduler.steps, scheduler.now, devices.map(\.link.troubles), texts.map(\.count), written.withLock { $0 })
        #expect(texts[0] == texts[1])
        #expect(texts[0].count >= written.withLock { $0 })
    }
}
