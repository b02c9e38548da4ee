// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

/// The engine's tables of spaces, members and invitations. They sync like the app's tables, if the app shares any.
enum SpaceTables {
    static let records: [any SyncedRecord.Type] = [SpaceRow.self, MemberRow.self, InvitationRow.self]

    /// The records, with the engine's own if any of them can be in a space.
    static func added(to synced: [any SyncedRecord.Type]) -> [any SyncedRecord.Type] {
        synced.contains { $0.syncRules.space != nil } ? synced + records : synced
    }

    static func contain(_ table: String) -> Bool { records.contains { $0.databaseTableName == table } }

    static let tables = """
        CREATE TABLE IF NOT EXISTS optimist_space(          -- the spaces that the person uses
            id BLOB PRIMARY KEY NOT NULL, name TEXT
        );
        CREATE TABLE IF NOT EXISTS optimist_member(
            id BLOB PRIMARY KEY NOT NULL, space BLOB, name TEXT, role TEXT,
            ticket TEXT                         -- the secret of a link, until the server has admitted the person
        );
        CREATE INDEX IF NOT EXISTS optimist_member_space ON optimist_member(space);
        CREATE TABLE IF NOT EXISTS optimist_invitation(
            id BLOB PRIMARY KEY NOT NULL, space BLOB, role TEXT, label TEXT, endsAt DATETIME, uses INTEGER, used INTEGER,
            hash BLOB                           -- SHA-256 of the link's secret
        );
        CREATE INDEX IF NOT EXISTS optimist_invitation_space ON optimist_invitation(space);
        """
}

/// The person's use of a space, in the person's own account. Its id is the id of the space.
struct SpaceRow: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "optimist_space"
    var id: UUID
    var name: String?
}

/// A member of a space.
struct MemberRow: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "optimist_member"
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
