// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// The person's use of a space, in the person's own account. Its id is the id of the space.
struct SpaceRow: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "optimist_space"
    var id: UUID
    var name: String?
}

/// A member of a space.
struct MemberRow: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "optimist_member"
    static let ticketColumn = "ticket"
    static let syncRules = SyncRules(space: .own("space"))
    var id: UUID
    var space: UUID?
    var name: String?
    var role: String?
    var ticket: String?
}

/// An open invitation to a space.
struct InvitationRow: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "optimist_invitation"
    static let syncRules = SyncRules(space: .own("space"))
    var id: UUID
    var space: UUID?
    var role: String?
    var label: String?
    var endsAt: Date?
    var uses: Int?
    var used: Int?
    var hash: Data?
}

extension TableLayout {
    /// The server reads the secret of a link, and does not store it with the member row.
    func isStoredByServer(_ column: Column) -> Bool {
        name != MemberRow.databaseTableName || column.name != MemberRow.ticketColumn
    }
}
