// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// The sessions that have ended, and how far each has been confirmed, without asking the database.
///
/// Every end passes through here before it is answered, so an access token stops working at once, not when it expires.
final class SessionDirectory: Sendable {
    struct Standing: Hashable, Sendable {
        var confirmed: Int
        var ended: SessionEnd?
    }

    private let standings = Mutex<[String: Standing]>([:])
    private let maxSessions = 200_000

    subscript(session: String) -> Standing? { standings.withLock { $0[session] } }

    /// Notes a record of the database. Entries that are here already are newer.
    func learn(_ record: SessionRecord) -> Standing {
        standings.withLock { standings in
            if let known = standings[record.id] { return known }
            if standings.count >= maxSessions { standings = standings.filter { $0.value.ended != nil } }
            let standing = Standing(confirmed: record.confirmed, ended: record.ended)
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
