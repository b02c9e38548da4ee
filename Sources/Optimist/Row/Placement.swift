// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Whether the app's table shows the server's row, merged with unsent edits, or why the row waits.
enum Placement: Equatable, Sendable {
    case shown
    /// The table shows the previous state, or no row. The server's row is in `optimist_parked`.
    case waiting(ParkedReason)
}

/// Why a received row is not in the app's table yet. `optimist_parked` stores the kind's number.
struct ParkedReason: Equatable, Sendable {
    enum Kind: Int64, Sendable {
        /// The row breaks an app constraint, or refers to a missing row.
        case constraint = 1
        case valueTaken = 2
        /// A deletion waits until the device has caught up, because rows that refer to the deleted row may have another
        /// owner on the server.
        case deletionTooSoon = 3
        // 4 was for rows that refer to each other. Do not reuse it.
        /// An unsent life or deletion of the row must be settled first.
        case belowUnsent = 5
        /// The row's id is in use in another space, which has not yet reported that the row left or ended.
        case claim = 6
    }

    let kind: Kind
    /// Set if SQLite refused the row.
    var message: String?

    static let deletionTooSoon = ParkedReason(kind: .deletionTooSoon)
    static let belowUnsent = ParkedReason(kind: .belowUnsent)
    static let claim = ParkedReason(kind: .claim)
    static let constraint = ParkedReason(kind: .constraint)
    static let foreignKey = ParkedReason(kind: .constraint, message: "FOREIGN KEY constraint failed")
}

extension ParkedReason {
    init(_ error: DatabaseError) {
        let isTaken = [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY].contains(error.extendedResultCode)
        self.init(kind: isTaken ? .valueTaken : .constraint, message: error.message)
    }
}
