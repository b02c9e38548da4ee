// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

struct NoteTests {
    struct Note: Codable, Identifiable, SyncedRecord {
        var id = UUID()
        var text: String
    }

    // What every device runs.
    static let app = SimulatedApp(synced: [Note.self]) { migrator in
        migrator.registerMigration("1") { db in
            try db.create(table: "note") { table in
                table.primaryKey("id", .blob)
                table.column("text", .text).notNull()
            }
        }
    }

    // The server's schema.
    static let schema = Schema(
        id: "notes", types: ["note": TypeSchema(columns: ["text": ColumnSchema(.string, isRequired: true)])])

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a note reaches the other device`(seed: UInt64) throws {
        let simulation = try Simulation(seed: seed, app: Self.app, schema: Self.schema)
        defer { simulation.end() }
        let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))

        phone.link.conditions = .flaky
        try phone.write { db in try Note(id: UUID(), text: "Tickets").insert(db) }
        phone.kill(afterJobs: 20)
        simulation.run(for: .seconds(60))

        try simulation.settle()
        #expect(try tablet.read { try Note.fetchCount($0) } == 1)
    }
}
