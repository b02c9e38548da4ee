// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistSimulation

@Suite("The oracle of a device", .timeLimit(.minutes(20)))
struct OracleDevicesTests {
    private static let id = "01000000000040008000000000000001"
    private static let row = RowName(table: "list", id: id)
    private static let clock = "019b76ddb5400000-Phone"

    /// The findings for a device's row of a list. The server had this list with the name "Trip" under one clock.
    private func findings(name: String, edit: String = "", clock: String = clock) throws -> [String] {
        let world = World.quiet()
        defer { world.end() }
        let device = world.devices[0]
        device.kill()
        var history = History()
        _ = history.serve([
            ServedRow(
                name: Self.row, seq: 1, values: ["name": "Trip", "rank": nil],
                clocks: ColumnClocks(common: WriteClock(Self.clock)))
        ])
        let file = try DatabaseQueue(path: device.disk.mount().url(SimulatedDevice.fileName).path)
        return try file.write { db in
            let triggers = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for trigger in triggers { try db.execute(sql: "DROP TRIGGER \(trigger)") }
            let table = "(SELECT number FROM optimist_table WHERE name = 'list')"
            try db.execute(
                sql: """
                    INSERT INTO list(id, name) VALUES (x'\(Self.id)', '\(name)');
                    INSERT INTO optimist_remote(tbl, id, generation, seq, clock, node, clocks, known, settled, scope)
                    SELECT \(table), x'\(Self.id)', 1, 1, 0, 0,
                    json_group_object(name, '\(clock)'), sum(1 << bit), 0, 0 FROM optimist_column WHERE tbl = \(table);
                    """)
            if !edit.isEmpty {
                try db.execute(
                    sql: """
                        INSERT INTO optimist_edit(tbl, id, generation, grp, place, stamp, dirty, base, stamps)
                        SELECT \(table), x'\(Self.id)', 1, 1, 1, 1, 1 << bit, \(edit)
                        FROM optimist_column WHERE tbl = \(table) AND name = 'name'
                        """)
            }
            let oracle = Oracle(history: history, clocksAreRight: true)
            return try oracle.findings(on: Oracle.Shown(db)).map(\.text)
        }
    }

    private static let tour = "unlawful: list:01.name = Tour, and the server had Trip (the law of a row)"

    @Test func `a shown value must equal the server's value with the same clock`() throws {
        #expect(try findings(name: "Trip").isEmpty)
        #expect(try findings(name: "Tour") == [Self.tour])
        #expect(try findings(name: "Tour", clock: "019b76ddb5400001-Phone") == [Self.tour], "the row is called synced")
        #expect(try findings(name: "Trip", clock: "019b76ddb5400001-Phone").isEmpty)
    }

    @Test func `the base of an edit must equal the server's value with its clock`() throws {
        #expect(try findings(name: "Mine", edit: "json_object('name', '''Trip'''), NULL").isEmpty)
        #expect(
            try findings(name: "Mine", edit: "json_object('name', '''Tour'''), NULL")
                == [Self.tour])
    }

    @Test func `a value that the server lost must be unsent with its original clock`() throws {
        let lost = "'{}', json_object('@life', '\(Self.clock)', 'name', '\(Self.clock)')"
        #expect(try findings(name: "Trip", edit: lost).isEmpty)
        #expect(
            try findings(name: "Tour", edit: lost) == [Self.tour])
    }
}
