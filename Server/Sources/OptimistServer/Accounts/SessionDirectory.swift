// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// A cache of session states. The end of a session is recorded here before the request that ends it is answered, so an
/// access token stops working immediately instead of when it expires.
///
/// If several processes share the data, another process may end a session, so a cached state is used only for a limited
/// time.
final class SessionDirectory: Sendable {
    struct Standing: Hashable, Sendable {
        var confirmed: Int
        var ended: SessionEnd?
        /// When the state was read, as the time since a fixed moment.
        var readAt: Duration = .zero
        /// The database's epoch at that time. A database that was restored later may lack the session.
        var epoch = ""
    }

    private let standings = Mutex<[String: Standing]>([:])
    private let maxSessions = 200_000

    private let lifetime: Duration?
    private let elapsed: @Sendable () -> Duration
    private let epoch: @Sendable () -> String

    /// - Parameters:
    ///   - lifetime: How long a state is used. Nil means no limit.
    ///   - elapsed: Returns the time since a fixed moment.
    ///   - epoch: Returns the current epoch of the database.
    init(
        lifetime: Duration?, elapsed: @escaping @Sendable () -> Duration,
        epoch: @escaping @Sendable () -> String = { "" }
    ) {
        self.lifetime = lifetime
        self.elapsed = elapsed
        self.epoch = epoch
    }

    /// Nil if the database must be asked. The end of a session is cached without a time limit.
    subscript(session: String) -> Standing? {
        guard let known = standings.withLock({ $0[session] }) else { return nil }
        return isInUse(known) ? known : nil
    }

    private func isInUse(_ standing: Standing) -> Bool {
        guard standing.ended == nil, let lifetime else { return true }
        return elapsed() - standing.readAt < lifetime && standing.epoch == epoch()
    }

    /// Caches a record from the database, unless the cache has a valid state, which is newer. Returns the state to use.
    func learn(_ record: SessionRecord) -> Standing {
        standings.withLock { standings in
            if let known = standings[record.id], isInUse(known) { return known }
            if standings.count >= maxSessions { standings = standings.filter { $0.value.ended != nil } }
            let standing = Standing(confirmed: record.confirmed, ended: record.ended, readAt: elapsed(), epoch: epoch())
            standings[record.id] = standing
            return standing
        }
    }

    func confirm(_ session: String, _ number: Int) {
        standings.withLock { standings in
            guard let confirmed = standings[session]?.confirmed else { return }
            standings[session]?.confirmed = max(confirmed, number)
        }
    }

    func end(_ session: String, _ reason: SessionEnd) {
        standings.withLock { $0[session] = Standing(confirmed: .max, ended: reason) }
    }
}
