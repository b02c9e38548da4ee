// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Whether the app's table shows the server's row, merged with unsent edits, or the row waits, and for which reason.
enum Placement: Equatable, Sendable {
    case shown
    /// The table shows the row as it was before, or does not show it. `optimist_parked` has the server's row.
    case waiting(ParkedReason)
}

/// Why a received row is not in the app's table yet. `optimist_parked` has the kind as a number, whose meaning never
/// changes.
struct ParkedReason: Equatable, Sendable {
    enum Kind: Int64, Sendable {
        /// The row breaks a constraint of the app's, or it refers to a row that is not here.
        case constraint = 1
        /// Another row has the row's values of a unique index.
        case valueTaken = 2
        /// A deletion that waits until the device has everything else that the server has changed meanwhile. Rows that
        /// refer to the deleted row may have another owner by now.
        case deletionTooSoon = 3
        // The number four is no longer used. It stood for rows that refer to each other.
        /// The device has an unsent life or deletion of the row, which must be settled first.
        case belowUnsent = 5
    }

    let kind: Kind
    /// SQLite's message, if SQLite refused the row.
    var message: String?

    static let deletionTooSoon = ParkedReason(kind: .deletionTooSoon)
    static let belowUnsent = ParkedReason(kind: .belowUnsent)
    static let constraint = ParkedReason(kind: .constraint)
    static let foreignKey = ParkedReason(kind: .constraint, message: "FOREIGN KEY constraint failed")
}

extension ParkedReason {
    /// - Parameter error: An error for which ``DatabaseError/isConstraint`` is true.
    init(_ error: DatabaseError) {
        let isTaken = [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY].contains(error.extendedResultCode)
        self.init(kind: isTaken ? .valueTaken : .constraint, message: error.message)
    }
}
