// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

/// Sign-in attempts, counted across all processes by the database's clock.
struct PostgresAttempts: AttemptStore {
    let pool: PostgresPool

    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate, count: Int) async throws -> Duration? {
        let interval = rate.interval.seconds
        return try await pool.run { connection in
            let rows = try connection.query(
                SharedStatement.attempt,
                [
                    .text(kind.rawValue), .text(key.shortKey), .double(Double(rate.burst)), .double(interval),
                    .double(Double(count)),
                ])
            guard rows.bool(0, 1) else { return nil }
            return .seconds(interval * max(0, rows.double(0, 0) - Double(rate.burst - 1)))
        }
    }

    func forgive(_ kind: AttemptKind, _ key: String) async throws {
        try await pool.run {
            _ = try $0.query(SharedStatement.forgive, [.text(kind.rawValue), .text(key.shortKey)])
        }
    }

    /// Removes buckets that were not used for a day. At the default rates they emptied long ago.
    func sweep() async throws { try await pool.run { _ = try $0.query(SharedStatement.forgetAttempts, []) } }
}

extension Duration {
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
