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

    /// The numbers of two of the tables, as SQL.
    static let spaces = "(SELECT number FROM optimist_table WHERE name = 'optimist_space')"
    static let members = "(SELECT number FROM optimist_table WHERE name = 'optimist_member')"

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
        CREATE TABLE IF NOT EXISTS optimist_secret(         -- the secrets of this device's invitations. Never sent
            invitation BLOB PRIMARY KEY NOT NULL, secret BLOB NOT NULL
        );
        """

    /// Members without those who are about to join. If a member opens a link again, the second row has a ticket until
    /// the server answers.
    private static func isMember(_ row: String) -> String { "(\(row).ticket IS NULL OR \(row).id IS o.member)" }

    /// The queries of the views that apps read.
    static let views = [
        Space.databaseTableName: """
        SELECT s.id AS id, s.name AS name, m.role AS role, o.member AS member,
        (SELECT count(*) FROM optimist_member x WHERE x.space = s.id AND \(isMember("x"))) AS memberCount,
        EXISTS (SELECT 1 FROM optimist_remote r
        WHERE r.tbl = \(members) AND r.id = o.member AND r.generation & 1) AS isJoined,
        EXISTS (SELECT 1 FROM optimist_edit e
        WHERE e.tbl = \(members) AND e.id = o.member AND e.generation & 1 = 0) AS isLeaving,
        coalesce(u.pending, 0) AS pending
        FROM optimist_space s LEFT JOIN optimist_scope o ON o.space = s.id
        LEFT JOIN optimist_member m ON m.id = o.member
        LEFT JOIN (SELECT space, count(*) AS pending FROM \(UnsentView.name) GROUP BY space) u
        ON u.space = lower(hex(s.id))
        """,
        SpaceMember.databaseTableName: """
        SELECT m.id AS id, m.space AS space, m.name AS name, m.role AS role, m.id IS o.member AS isMe,
        t.state AS state, nullif(r.clock, 0) AS stamp, json_extract(r.clocks, '$.space') AS clock
        FROM optimist_member m LEFT JOIN optimist_scope o ON o.space = m.space
        LEFT JOIN optimist_remote r ON r.tbl = \(members) AND r.id = m.id AND r.generation & 1
        LEFT JOIN optimist_state_optimist_member t ON t.id = m.id WHERE \(isMember("m"))
        """,
        SpaceInvitation.databaseTableName: """
        SELECT i.id AS id, i.space AS space, i.role AS role, i.label AS label, i.endsAt AS endsAt,
        i.uses AS uses, coalesce(i.used, 0) AS used, p.secret AS secret, t.state AS state
        FROM optimist_invitation i LEFT JOIN optimist_secret p ON p.invitation = i.id
        LEFT JOIN optimist_state_optimist_invitation t ON t.id = i.id
        """,
    ]
}
