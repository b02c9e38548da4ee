// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
@_spi(Internals) package import OptimistServing
package import OptimistWire
import Synchronization

/// A private part of a database for a simulation. Everything runs on the caller's thread, which controls the order.
package final class SynchronousPostgres: Sendable {
    private let database: PostgresDatabase
    private let schema: String
    private let reader = Mutex<PostgresConnection?>(nil)
    private let lives = Mutex(1)

    /// Makes an empty schema with an account for each person.
    ///
    /// - Throws: ``PostgresError``, or an error from making the tables.
    package init(url: String, persons: [String]) throws {
        schema = "w" + UUID().uuidString.lowercased().replacing("-", with: "")
        database = PostgresDatabase(
            url: url + (url.contains("?") ? "&" : "?") + "options=-csearch_path%3D\(schema)", maxConnections: 1)
        let connection = try PostgresConnection(database.url)
        try connection.script("CREATE SCHEMA \(schema)")
        try PostgresTables.migrate(connection)
        for person in persons {
            _ = try connection.query(AccountStatement.add, [.text(person), .text(person), .text(""), .text("")])
        }
        reader.withLock { $0 = connection }
    }

    package func open(_ schema: Schema, makeEpoch: @escaping @Sendable () -> String) throws -> any SyncStore {
        let epochs = DatabaseEpochs()
        let pool = PostgresPool(
            size: 1, maxWaiting: 0, logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        ) { [self] in
            let connection = try PostgresSetup(database).connect()
            let life = DatabaseLife(cluster: "simulation", timeline: "\(lives.withLock(\.self))", tables: 0)
            try epochs.keepUp(with: life, connection, makeName: makeEpoch)
            return connection
        }
        try pool.runNow { _ in }
        return PostgresSyncStore(pool: pool, known: epochs, schema: schema, isSynchronous: true)
    }

    package struct Stored: Sendable {
        package var type: String
        package var id: String
        package var generation: Int
        package var content: [UInt8]
        package var seq: Int64
    }

    package func accounts() throws -> [(account: String, seq: Int64)] {
        try reading { connection in
            let rows = try connection.query(SimulationStatement.accounts, [])
            return (0..<rows.count).map { (rows.text($0, 0), rows.int64($0, 1)) }
        }
    }

    package struct Member: Sendable {
        package var person: String
        package var role: String
        package var joinedSeq: Int64
        package var endedSeq: Int64?
        package var reason: String?
    }

    package func members(of account: String) throws -> [Member] {
        try reading { connection in
            let rows = try connection.query(SimulationStatement.members, [.text(account)])
            return (0..<rows.count).map {
                Member(
                    person: rows.text($0, 0), role: rows.text($0, 1), joinedSeq: rows.int64($0, 2),
                    endedSeq: rows.isNull($0, 3) ? nil : rows.int64($0, 3), reason: rows.textIfAny($0, 4))
            }
        }
    }

    package func rows(of account: String, after seq: Int64) throws -> [Stored] {
        try reading { connection in
            let rows = try connection.query(SimulationStatement.rows, [.text(account), .int(seq)])
            return (0..<rows.count).map {
                Stored(
                    type: rows.text($0, 0), id: rows.text($0, 1), generation: rows.int($0, 2),
                    content: rows.bytes($0, 3),
                    seq: rows.int64($0, 4))
            }
        }
    }

    /// Copies the current state, and returns a closure that restores it. Restoring begins another life of the database.
    package func copy() throws -> @Sendable () throws -> Void {
        let copy = schema + "_" + UUID().uuidString.lowercased().prefix(8)
        try reading { connection in
            try connection.script(
                "CREATE SCHEMA \(copy); "
                    + (PostgresTables.ofAccounts + PostgresTables.shared).map {
                        "CREATE TABLE \(copy).\($0) AS TABLE \(schema).\($0)"
                    }.joined(separator: "; "))
        }
        return { [self] in
            try reading { connection in
                try connection.script(
                    "BEGIN; "
                        + (PostgresTables.ofAccounts + PostgresTables.shared).map {
                            "DELETE FROM \(schema).\($0); INSERT INTO \(schema).\($0) TABLE \(copy).\($0)"
                        }.joined(separator: "; ") + "; COMMIT")
            }
            lives.withLock { $0 += 1 }
        }
    }

    package func remove() {
        try? reading { connection in
            try connection.script(
                """
                SET client_min_messages = error; DO $$ DECLARE found name; BEGIN
                FOR found IN SELECT nspname FROM pg_namespace WHERE nspname LIKE '\(schema)%' LOOP
                    EXECUTE format('DROP SCHEMA %I CASCADE', found); END LOOP; END $$
                """)
        }
    }

    private func reading<Value: Sendable>(_ work: (PostgresConnection) throws -> Value) throws -> Value {
        try reader.withLock { connection in
            guard let connection else { throw PostgresError(.lost) }
            return try work(connection)
        }
    }
}

private enum SimulationStatement: String, PostgresStatement, CaseIterable {
    case accounts, members, rows

    var sql: String {
        switch self {
        case .accounts: "SELECT account_id, seq FROM optimist_accounts ORDER BY account_id"
        case .members:
            "SELECT person_id, role, joined_seq, ended_seq, reason FROM optimist_members WHERE account_id = $1"
        case .rows:
            """
            SELECT type, id, generation, content, seq FROM optimist_rows
            WHERE account_id = $1 AND seq > $2 ORDER BY seq, ordinal
            """
        }
    }
}
