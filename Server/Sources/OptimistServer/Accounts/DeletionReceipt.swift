// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// All that the server keeps of a deleted account. It has neither the address nor anything that the user wrote.
package struct DeletionReceipt: Hashable, Sendable {
    /// The account's id, by which its devices learn that it was deleted.
    package var account: String
    /// In seconds since 1970.
    package var deletedAt: Double
    /// How many rows the account had, with those that had been deleted and were remembered.
    package var rows: Int
    /// How many sessions the account had, with those that had ended and were remembered.
    package var sessions: Int
    /// Whether all of them have been removed. The server goes on until they are.
    package var isErased: Bool

    package init(account: String, deletedAt: Double, rows: Int, sessions: Int, isErased: Bool) {
        self.account = account
        self.deletedAt = deletedAt
        self.rows = rows
        self.sessions = sessions
        self.isErased = isErased
    }

    /// - Parameter lifetime: For how many seconds the server keeps a receipt.
    func json(keptFor lifetime: Double) -> JSON {
        [
            "account": .string(account), "deletedAt": .string(Date(timeIntervalSince1970: deletedAt).utcText),
            "rows": .int(Int64(rows)), "sessions": .int(Int64(sessions)), "isErased": .bool(isErased),
            "keptUntil": .string(Date(timeIntervalSince1970: deletedAt + lifetime).utcText),
        ]
    }
}
