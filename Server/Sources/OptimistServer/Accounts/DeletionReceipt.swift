// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// The server's record of a deleted account or space, without its address or data.
package struct DeletionReceipt: Hashable, Sendable {
    /// Lets devices learn that the account was deleted.
    package var account: String
    /// In seconds since 1970.
    package var deletedAt: Double
    /// Including tombstones.
    package var rows: Int
    /// Including ended sessions.
    package var sessions: Int
    /// The spaces that the person was in.
    package var spaces: Int
    /// Whether all data has been removed. If not, the server continues to remove it.
    package var isErased: Bool

    package init(account: String, deletedAt: Double, rows: Int, sessions: Int, spaces: Int, isErased: Bool) {
        self.account = account
        self.deletedAt = deletedAt
        self.rows = rows
        self.sessions = sessions
        self.spaces = spaces
        self.isErased = isErased
    }

    /// - Parameter lifetime: In seconds.
    func json(keptFor lifetime: Double) -> JSON {
        [
            "account": .string(account), "deletedAt": .string(Date(timeIntervalSince1970: deletedAt).utcText),
            "rows": .int(Int64(rows)), "sessions": .int(Int64(sessions)), "spaces": .int(Int64(spaces)),
            "isErased": .bool(isErased),
            "keptUntil": .string(Date(timeIntervalSince1970: deletedAt + lifetime).utcText),
        ]
    }
}
