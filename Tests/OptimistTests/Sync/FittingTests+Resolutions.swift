// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

private struct Label: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "label"
    var id = UUID()
    var name: String
}

extension FittingTests {
    @Test(arguments: ["REPLACE", "IGNORE", "ROLLBACK"])
    func `M6 a received row replaces none of this device's, whatever the table does with rows of the app`(
        resolution: String
    ) async throws {
        let device = try Device([Label.self]) { migrator in
            migrator.registerMigration("label") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE label(
                        id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE ON CONFLICT \(resolution))
                        """)
            }
        }
        let store = device.store
        let mine = Label(name: "x")
        try await store.write { try mine.insert($0) }
        let theirs = PageRow(
            table: "label", id: UUID().uuidString.lowercased(),
            content: .row(
                RowPatch(
                    generation: 1,
                    clocks: ColumnClocks(
                        common: Clock(stamp: Stamp(milliseconds: 1_790_000_000_000), device: "OtherPhone")),
                    seq: 1, values: ["name": "x"])))
        try await store.apply(
            Page(from: "e1.0", cursor: "e1.1", hasMore: false, rows: [theirs]), to: ["label"], initialCursor: "e1.0")
        #expect(try await store.read { try Label.fetchAll($0).map(\.id) } == [mine.id])
        let counts = try await store.counts()
        #expect(counts.pending == 1)
        #expect(counts.parked == 1)
    }
}
