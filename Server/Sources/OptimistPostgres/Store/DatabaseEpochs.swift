// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// The epochs of the database, as this process knows them.
///
/// An epoch is a life of the database. It ends when a standby is promoted, a backup is restored, or an operator ends
/// it. The database may then lack rows that it had confirmed to devices.
final class DatabaseEpochs: Sendable {
    private struct Known {
        var last: Int64 = 0
        var names: [String] = []
        var life: DatabaseLife?
    }

    private let known = Mutex(Known())

    /// The name of the current epoch, or empty before the first read.
    var present: String { known.withLock { $0.names.last ?? "" } }

    /// Returns the names of all epochs, oldest first. Queries the database only if this process does not know the epoch
    /// with the number `last`.
    func names(upTo last: Int64, _ connection: PostgresConnection) throws(PostgresError) -> [String] {
        if let names = known.withLock({ $0.last == last ? $0.names : nil }) { return names }
        return try learn(connection)
    }

    /// Reads the epochs from the database, and returns their names, oldest first.
    ///
    /// - Parameter replacing: Whether the database may have lost epochs in a restore.
    @discardableResult
    func learn(_ connection: PostgresConnection, replacing: Bool = false) throws(PostgresError) -> [String] {
        let rows = try connection.query(SharedStatement.epochs)
        let names = (0..<rows.count).map { rows.text($0, 1) }
        let last = rows.count == 0 ? 0 : rows.int64(rows.count - 1, 0)
        known.withLock { known in
            if replacing || last >= known.last { (known.last, known.names) = (last, names) }
        }
        return names
    }

    /// Begins an epoch if the database has none, or if the last one belongs to another life of the database. Then reads
    /// the epochs.
    ///
    /// - Parameter life: The database's current life. Nil: unknown; then only a first epoch is begun.
    /// - Throws: ``PostgresError`` `unreachable` if another primary has replaced this one.
    func keepUp(with life: DatabaseLife?, _ connection: PostgresConnection, makeName: () -> String) throws {
        if let life { try refuseReplaced(life) }
        if try Self.isBehind(life, connection) {
            try connection.transaction { connection in
                _ = try connection.query(SharedStatement.lockSetup)
                guard try Self.isBehind(life, connection) else { return }
                try Self.begin(makeName(), life, connection)
            }
        }
        try learn(connection, replacing: true)
    }

    /// A primary that was cut off or frozen while a standby was promoted still accepts writes. They would be lost.
    private func refuseReplaced(_ life: DatabaseLife) throws(PostgresError) {
        let isReplaced = known.withLock { known in
            if let last = known.life, life.isReplaced(by: last) { return true }
            known.life = life
            return false
        }
        if isReplaced { throw PostgresError(.unreachable, "Another primary has replaced this one.") }
    }

    /// Adds an epoch. The caller holds the setup lock in an open transaction, so that numbers are unique.
    static func begin(_ name: String, _ life: DatabaseLife?, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.enqueue(SharedStatement.addEpoch, [.text(name), .text(life?.description)])
    }

    private static func isBehind(_ life: DatabaseLife?, _ connection: PostgresConnection) throws(PostgresError) -> Bool
    {
        let rows = try connection.query(SharedStatement.epochs)
        guard rows.count > 0 else { return true }
        guard let life else { return false }
        return rows.textIfAny(rows.count - 1, 2) != life.description
    }
}

/// Identifies one life of a database: by its cluster, the timeline of its log, and the identity of Optimist's tables.
/// Each promotion and each restore from an archive raises the timeline. Restoring a dump makes new tables.
///
/// > Source: PostgreSQL, "Continuous Archiving and Point-in-Time Recovery", "Timelines".
struct DatabaseLife: Hashable, Sendable, CustomStringConvertible {
    var cluster: String
    /// Eight hexadecimal digits.
    var timeline: String
    var tables: Int64

    var description: String { "\(cluster)/\(timeline)/\(tables)" }

    func isReplaced(by other: DatabaseLife) -> Bool { cluster == other.cluster && timeline < other.timeline }
}

extension DatabaseLife {
    /// Queries the database. Nil: it does not reveal its life, as with some managed services. An operator then has to
    /// begin epochs.
    init?(_ connection: PostgresConnection) throws(PostgresError) {
        do {
            // The name of the current log file contains the timeline. The control file lags behind a promotion.
            let rows = try connection.query(SharedStatement.life)
            cluster = rows.text(0, 0)
            timeline = rows.text(0, 1)
            tables = rows.int64(0, 2)
        } catch {
            // The user may not call the function, or an imitation of PostgreSQL lacks it.
            guard ["42501", "42883", "0A000"].contains(error.state) else { throw error }
            return nil
        }
    }
}
