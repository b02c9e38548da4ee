// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
import Testing

@testable import OptimistSimulation

extension World {
    /// A world without events, five seconds after its two devices were switched on.
    static func quiet() -> World {
        let plan = Plan(seed: 1, devices: 2, clocksAreRight: true, pageRows: nil, seconds: 10, events: [])
        let world = World(plan, OnePerson.app, isLogging: false)
        world.inhabit(by: OnePerson(world))
        world.keepRunning()
        world.scheduler.run(for: .seconds(5))
        return world
    }
}

@Suite("The file and status checks", .timeLimit(.minutes(20)))
struct FileChecksTests {
    /// The findings in a closed file after SQL damaged it in a way no correct program could.
    private func findings(_ name: String, on disk: SimulatedDisk, of world: World, _ sql: String) throws -> [String] {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let file = disk.mount().url(name).path
        let queue = try DatabaseQueue(path: file, configuration: configuration)
        try queue.writeWithoutTransaction { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
                try db.execute(sql: "DROP TRIGGER \(name)")
            }
            try db.execute(sql: sql)
        }
        try queue.close()
        try DatabaseQueue(path: file, configuration: configuration).read { try world.checkFile($0, "it") }
        return world.withState(\.findings)
    }

    /// The numbers from 1 to `last`, as SQL.
    private static func numbers(to last: Int) -> String {
        "WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(last))"
    }

    private static let remote = """
        INSERT INTO optimist_remote(tbl, id, generation, seq, clock, node, clocks, known, settled, scope)
        SELECT 1, randomblob(16)
        """

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
            "DELETE FROM optimist_node; \(numbers(to: 201)) INSERT INTO optimist_node(number, device) SELECT 1000 + n, n FROM n",
            ["grown: 201 devices on it"]
        ),
        (
            "\(numbers(to: 61)) \(remote), 1, 1, 0, 0, NULL, 1, 0, 0 FROM n",
            ["grown: 61 entries on it"]
        ),
        (
            "INSERT INTO optimist_edit(tbl, id, generation, grp, place, stamp, dirty) VALUES (1, x'00', 1, 1, 1, 1, 1)",
            ["stuck: pending rows on it"]
        ),
        ("\(remote), 0, 1, 0, 0, NULL, 1, 0, 0", ["stuck: rows that the server does not have on it"]),
        (
            "INSERT INTO optimist_parked(scope, tbl, id, seq, row, reason) VALUES (0, 1, x'00', 1, '{}', 1)",
            ["stuck: parked rows on it"]
        ),
        ("INSERT INTO optimist_join VALUES (1, 2)", ["stuck: joins on it"]),
        ("INSERT INTO optimist_whole VALUES (1)", ["stuck: groups of all or nothing on it"]),
        ("INSERT INTO optimist_unseen VALUES (0, 1, x'00')", ["stuck: rows that a snapshot did not bring on it"]),
        ("INSERT INTO optimist_unknown VALUES (1, x'00', '{}')", ["stuck: values of unknown columns on it"]),
    ])
    func `damage, growth and unfinished work in a device's file are found`(sql: String, found: [String]) throws {
        let world = World.quiet()
        defer { world.end() }
        let device = world.devices[0]
        device.kill()
        #expect(try findings(SimulatedDevice.fileName, on: device.disk, of: world, sql) == found)
    }

    @Test(arguments: [
        ("", []),
        (
            "\(numbers(to: 21)) INSERT OR REPLACE INTO optimist_account_days SELECT 'account', n, 1 FROM n",
            ["grown: 21 days on it"]
        ),
    ])
    func `growth of a server's file is found`(sql: String, found: [String]) throws {
        let world = World.quiet()
        defer { world.end() }
        world.server.kill()
        #expect(try findings(ServerOnDisk.file, on: world.data.disk, of: world, sql) == found)
    }

    @Test func `a status with wrong counts, or a missing one, is found`() throws {
        let world = World.quiet()
        defer { world.end() }
        world.followStatuses()
        world.scheduler.run(for: .seconds(5))
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
            #expect(world.withState(\.findings).first?.hasPrefix("untrue: device 0 reports ") == true)
        }
        world.withState { $0.statuses[0] = nil }
        #expect(try world.read(device) { try world.judgeStatus(of: device, $0) } == nil)
        #expect(world.withState(\.findings).contains("untrue: device 0 has not reported a status"))
    }
}
