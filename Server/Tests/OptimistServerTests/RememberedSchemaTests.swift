// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// The schema that a server reads from the data if no schema is named.
@Suite(.timeLimit(.minutes(20)))
struct RememberedSchemaTests {
    private let site = Site()

    private func remembered() async throws -> Schema? {
        guard let database = site.database else { return try RememberedSchema.read(in: site.directory) }
        return try await PostgresOpening(database: database, logger: SharedDatabase.quiet).rememberedSchema()
    }

    @Test func `O13 the data remembers its last schema, and reading it creates nothing`()
        async throws
    {
        #expect(try await remembered() == nil)
        #expect(!FileManager.default.fileExists(atPath: site.directory.path))
        var schema = Schema.projects
        _ = try await site.open(schema: schema)
        #expect(try await remembered() == schema)
        schema.version = 12
        schema.types["Note"] = TypeSchema(columns: ["text": ColumnSchema(.string)])
        let server = try await site.open(schema: schema)
        #expect(try await remembered() == schema, "beside a server that runs")
        withExtendedLifetime(server) {}
    }

    @Test(.embedded) func `O13 unreadable data is reported before anything is written`() async throws {
        try site.makeDirectory()
        try await DatabaseQueue(path: site.file.path).write { try $0.execute(sql: "CREATE TABLE other (a)") }
        let before = try Data(contentsOf: site.file)
        await #expect(throws: OptimistError.self) { try await remembered() }
        #expect(try Data(contentsOf: site.file) == before)
        try FileManager.default.removeItem(at: site.file)
        try Data().write(to: site.file)
        #expect(try await remembered() == nil, "a start that died before it made the tables")
    }
}
