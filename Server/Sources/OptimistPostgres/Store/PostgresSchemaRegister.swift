// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// Stores the app's schema in the database, and refuses a schema that conflicts with it.
///
/// It does not change rows: each account is converted at its next request.
enum PostgresSchemaRegister {
    /// Accepts a schema when a process starts, in one transaction.
    ///
    /// - Parameter accepted: The schema changes that the operator accepts although apps or rows may lose data.
    /// - Throws: `OptimistError` with code `schemaConflict`, ``PostgresError`` or `StoreError.damagedRow`. The
    ///   transaction is then rolled back.
    static func accept(
        _ schema: Schema, accepting accepted: [SchemaChange], _ connection: PostgresConnection
    ) throws {
        try connection.transaction { connection in
            _ = try connection.query(SharedStatement.lockSetup)
            let rows = try connection.query(SharedStatement.schemas, [.text(schema.id)])
            let known = (0..<rows.count).map {
                SchemaRegister.Version(version: rows.int($0, 0), content: rows.text($0, 1))
            }
            let other = try connection.query(SharedStatement.otherSchema)
            try SchemaRegister.check(schema, known: known, otherApp: other.count > 0 ? other.text(0, 0) : nil)
            try SchemaConsent(to: schema, from: known, accepted) { type, index in
                try Collisions(schema: schema, type: type, index: index).count(connection)
            }.check()
            try connection.enqueue(
                SharedStatement.addSchema,
                [.text(schema.id), .int(schema.version), .text(SchemaRegister.content(of: schema))])
        }
    }
}

/// Counts the rows whose values in a new unique index equal those of another row of their account. Some accounts may
/// still use the names of an earlier version.
private struct Collisions {
    let schema: Schema
    let type: String
    let index: UniqueIndex

    func count(_ connection: PostgresConnection) throws -> Int {
        var count = 0
        var last = ""
        while true {
            let ids = try connection.query(SharedStatement.accountIDs, [.text(last), .int(500)]).texts
            for id in ids { count += try self.count(id, connection) }
            guard let next = ids.last else { return count }
            last = next
        }
    }

    private func count(_ account: String, _ connection: PostgresConnection) throws -> Int {
        let found = try connection.query(CareStatement.schemaVersion, [.text(account)])
        guard found.count == 1, let definition = schema.types[type] else { return 0 }
        let vocabulary = Vocabulary(schema, version: found.int(0, 0))
        var counts: [IndexKey: Int] = [:]
        var last = ""
        while true {
            let rows = try connection.query(
                RowStatement.allRows, [.text(account), .text(vocabulary.formerType(type)), .text(last)])
            if rows.count == 0 { break }
            for row in 0..<rows.count where rows.int(row, 3) % 2 == 1 {
                let content = try JSON(parsing: rows.bytes(row, 1)).object.map { vocabulary.present($0, of: type) }
                guard let content,
                    let stored = StoredRow(
                        content: JSON.object(content).bytes, hidden: nil, seq: 0, ordinal: 0, bornSeq: 0)
                else { throw StoreError.damagedRow(RowKey(type, rows.text(row, 0))) }
                for entry in definition.indexEntries(of: stored.row) where entry.index == index.name {
                    counts[entry.key, default: 0] += 1
                }
            }
            last = rows.text(rows.count - 1, 0)
        }
        return counts.values.reduce(0) { $0 + ($1 > 1 ? $1 : 0) }
    }
}
