// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// The epochs of the database, as this process knows them.
///
/// An epoch is a life of the database, not of a process. It ends when a standby is promoted, or a backup is restored into
/// another cluster, since the database may then lack what devices were told that it had.
final class DatabaseEpochs: Sendable {
    private struct Known {
        var last: Int64 = 0
        var names: [String] = []
    }

    private let known = Mutex(Known())

    /// The name of the present epoch.
    var present: String { known.withLock { $0.names.last ?? "" } }

    /// Returns every epoch, oldest first. Asks the database only if there is one that this process does not know.
    ///
    /// - Parameter last: The number of the last epoch.
    func names(upTo last: Int64, _ connection: PostgresConnection) throws(PostgresError) -> [String] {
        if let names = known.withLock({ $0.last == last ? $0.names : nil }) { return names }
        return try learn(connection)
    }

    /// Reads the epochs anew.
    @discardableResult
    func learn(_ connection: PostgresConnection) throws(PostgresError) -> [String] {
        let rows = try connection.query(SharedStatement.epochs)
        let names = (0..<rows.count).map { rows.text($0, 1) }
        let last = rows.count == 0 ? 0 : rows.int64(rows.count - 1, 0)
        known.withLock { known in
            if last >= known.last { known = Known(last: last, names: names) }
        }
        return names
    }

    /// Begins an epoch if the database lives another life than the last epoch did.
    ///
    /// - Parameter makeName: Makes the name of an epoch.
    func keepUp(with life: DatabaseLife?, _ connection: PostgresConnection, makeName: () -> String) throws {
        if try !Self.isBehind(life, connection) {
            try learn(connection)
            return
        }
        try connection.transaction { connection in
            _ = try connection.query(SharedStatement.lockSetup)
            guard try Self.isBehind(life, connection) else { return }
            try Self.begin(makeName(), life, connection)
        }
        try learn(connection)
    }

    /// Adds an epoch, within a transaction.
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

/// Which life a database lives: its cluster, and the timeline of its log, which every promotion and every restore from an
/// archive raises.
///
/// > Source: PostgreSQL, "Continuous Archiving and Point-in-Time Recovery", "Timelines".
struct DatabaseLife: Hashable, Sendable, CustomStringConvertible {
    var cluster: String
    var timeline: String

    var description: String { "\(cluster)/\(timeline)" }
}

extension DatabaseLife {
    /// Asks the database. Nil: it does not tell, as some managed services do not. Then an operator begins epochs.
    init?(_ connection: PostgresConnection) throws(PostgresError) {
        do {
            // The log's present file names the timeline at this moment. The control file lags behind a promotion.
            let rows = try connection.query(SharedStatement.life)
            cluster = rows.text(0, 0)
            timeline = rows.text(0, 1)
        } catch {
            // No right to the function, or no such function: PostgreSQL's relatives lack them.
            guard ["42501", "42883", "0A000"].contains(error.state) else { throw error }
            return nil
        }
    }
}
