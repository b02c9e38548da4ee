// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import Optimist
import OptimistWire
import Testing

@testable import Optimist

struct Specimen: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "specimen"
    var id = UUID()

    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
        switch column {
        case "since": .timeIntervalSince1970
        case "millis": .millisecondsSince1970
        default: .deferredToDate
        }
    }

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("specimen") { db in
            try db.execute(
                sql: """
                    CREATE TABLE specimen(id BLOB PRIMARY KEY NOT NULL, word TEXT, short VARCHAR(10), day DATE, flag BOOLEAN,
                    count INTEGER, large BIGINT, ratio DOUBLE, amount NUMERIC, price DECIMAL(10, 2), anything, bytes BLOB,
                    doc JSON, page JSONTEXT, moment DATETIME, since DATETIME, millis TIMESTAMP,
                    owner BLOB REFERENCES specimen(id))
                    """)
        }
    }

    /// All columns except the reference.
    static let columns = [
        "word", "short", "day", "flag", "count", "large", "ratio", "amount", "price", "anything", "bytes", "doc",
        "page",
        "moment", "since", "millis",
    ]
}

struct Specimens {
    let here: Device
    let there: Device
    let server: AppServer

    init() throws {
        here = try Device([Specimen.self], migrate: Specimen.migrate)
        there = try Device([Specimen.self], migrate: Specimen.migrate)
        server = AppServer(try Schema(exporting: here.file, id: "specimens"))
    }

    func sync() async throws {
        try await here.sync(with: server)
        try await there.sync(with: server)
        try await here.sync(with: server)
    }
}

extension Device {
    /// A column's value as a literal, which shows its type and bytes.
    func literal(_ column: String, of specimen: Specimen) async throws -> String {
        try await literals([column], of: specimen).first ?? "no row"
    }

    func literals(_ columns: [String], of specimen: Specimen) async throws -> [String] {
        let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        return try await store.read { db in
            try RowStatement("SELECT \(names) FROM specimen WHERE id = ?", in: db)
                .first([specimen.id.databaseValue]) { row in
                    columns.indices.map { SQLLiteral.text(of: row.value(Int32($0))) }
                } ?? []
        }
    }

    func set(_ column: String, _ sql: String, in specimen: Specimen) async throws {
        try await execute("UPDATE specimen SET \"\(column)\" = \(sql) WHERE id = ?", [specimen.id])
    }
}
