// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer
@_spi(Internals) import OptimistServing
import OptimistWire

struct SharedData: CheckedData {
    private let connection: PostgresConnection
    private let schema: Schema?

    init(_ connection: PostgresConnection) throws {
        self.connection = connection
        let found = try connection.query(CareStatement.latestSchema)
        schema = found.count == 0 ? nil : try Schema(json: JSON(parsing: found.bytes(0, 1)))
    }

    func texts(_ query: CheckedQuery) throws -> [String] { try connection.query(CareQuery(query)).texts }

    func forEachRow(_ body: (AuditedRow) throws -> Bool) throws {
        var last = ("", "", "")
        while true {
            let rows = try connection.query(
                CareStatement.rows, [.text(last.0), .text(last.1), .text(last.2), .int(Self.pageRows)])
            for row in 0..<rows.count {
                last = (rows.text(row, 0), rows.text(row, 1), rows.text(row, 2))
                let checked = AuditedRow(
                    account: last.0, type: last.1, id: last.2, isAlive: rows.int(row, 3) % 2 == 1,
                    content: rows.bytes(row, 4), hidden: rows.bytesIfAny(row, 5))
                guard try body(checked) else { return }
            }
            if rows.count < Self.pageRows { return }
        }
    }

    private static let pageRows = 1_000

    func entries(of account: String, type: String) throws -> [String: Set<IndexEntry>] {
        let rows = try connection.query(CareStatement.entries, [.text(account), .text(type)])
        var entries: [String: Set<IndexEntry>] = [:]
        for row in 0..<rows.count {
            entries[rows.text(row, 0), default: []]
                .insert(IndexEntry(index: rows.text(row, 1), key: IndexKey(rows.text(row, 2))))
        }
        return entries
    }

    /// Nil for an account that has not been converted to the latest schema. Its next request converts it.
    func schema(of account: String) throws -> Schema? {
        let found = try connection.query(CareStatement.schemaVersion, [.text(account)])
        return found.count == 1 && found.int(0, 0) == schema?.version ? schema : nil
    }

    func stored(_ entry: IndexEntry) -> IndexEntry {
        IndexEntry(index: entry.index, key: IndexKey(entry.key.text.shortKey))
    }
}
