// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@testable import OptimistSimulation
import OptimistTesting
import Testing

@Suite("The judges of files and statuses", .timeLimit(.minutes(20)))
struct FileChecksTests {
    /// A world with one device that has received all there is, which is nothing.
    private func quietWorld() -> World {
        let world = World(
            Plan(seed: 1, devices: 2, clocksAreRight: true, pageRows: nil, seconds: 10, events: []), isLogging: false)
        world.keepRunning()
        world.scheduler.run(for: .seconds(5))
        world.followStatuses()
        world.scheduler.run(for: .seconds(5))
        return world
    }

    /// Spoils the file of a device that does not run, as nobody who keeps to the rules could.
    private func spoil(_ device: SimulatedDevice, _ sql: String) throws -> DatabaseQueue {
        device.kill()
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let file = device.disk.mount().url(SimulatedDevice.fileName).path
        let queue = try DatabaseQueue(path: file, configuration: configuration)
        try queue.writeWithoutTransaction { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
                try db.execute(sql: "DROP TRIGGER \(name)")
            }
            try db.execute(sql: sql)
        }
        try queue.close()
        return try DatabaseQueue(path: file, configuration: configuration)
    }

    @Test(arguments: [
        ("", []),
        (
            "INSERT INTO todo(id, listId) VALUES (randomblob(16), randomblob(16))",
            ["broken reference: in the file of it"]
        ),
        (
            """
            CREATE TABLE t(n); INSERT INTO t VALUES (NULL); PRAGMA writable_schema = 1;
            UPDATE sqlite_master SET sql = 'CREATE TABLE t(n NOT NULL)' WHERE name = 't'
            """,
            ["damaged: the file of it"]
        ),
        (
            """
            DELETE FROM optimist_node;
            WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 201)
            INSERT INTO optimist_node(number, device) SELECT 1000 + n, n FROM n
            """,
            ["grown: 201 devices on it"]
        ),
        (
            "INSERT INTO optimist_parked(tbl, id, seq, row, reason) VALUES (1, x'00', 1, '{}', 'never fits')",
            ["stuck: parked rows on it"]
        ),
    ])
    func `a file that is damaged, has grown, or is not at rest is found`(sql: String, found: [String]) throws {
        let world = quietWorld()
        defer { world.end() }
        try spoil(world.devices[0], sql).read { try world.checkFile($0, "it") }
        #expect(world.withState(\.findings) == found)
    }

    @Test func `a status that is not how things are is found`() throws {
        let world = quietWorld()
        defer { world.end() }
        let device = world.devices[0]
        #expect(try world.read(device) { try world.judgeStatus(of: device, $0) } != nil)
        #expect(world.withState(\.findings) == [])
        for count in [\SyncCounts.pending, \.parked, \.rejected] {
            world.withState { state in
                state.findings = []
                state.statuses[0]?.counts = SyncCounts()
                state.statuses[0]?.counts[keyPath: count] = 1
            }
            _ = try world.read(device) { try world.judgeStatus(of: device, $0) }
            #expect(world.withState(\.findings).first?.hasPrefix("untrue: device 0 says ") == true)
        }
        world.withState { $0.statuses[0] = nil }
        #expect(try world.read(device) { try world.judgeStatus(of: device, $0) } == nil)
        #expect(world.withState(\.findings).contains("untrue: device 0 tells nothing"))
    }
}
