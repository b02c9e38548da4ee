// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

/// Each function is a write like the app's own: it works offline, returns when it is durable, and its rows are pending
/// until the server answers.
extension Store {
    /// Creates a space, with this person as its owner.
    ///
    /// - Parameters:
    ///   - name: The person's own name for the space.
    ///   - member: The person's name for the other members.
    /// - Throws: As ``write(allOrNothing:_:)``, and `OptimistError` with code `invalidTable` if the app shares no
    ///   table.
    public func createSpace(named name: String, as member: String) async throws -> Space {
        let (space, own) = (dependencies.makeID(), dependencies.makeID())
        return try await writeSpaces { db in
            try SpaceRow(id: space, name: name).insert(db)
            try MemberRow(id: own, space: space, name: member, role: SpaceRole.owner.rawValue).insert(db)
            try Self.note(own, in: space, db)
            return try Self.space(space, db)
        }
    }

    /// Invites people to a space. Only owners may.
    ///
    /// The link works as soon as the invitation is synced. It can be shown again on this device: see
    /// ``SpaceInvitation/link``.
    ///
    /// - Parameters:
    ///   - space: A space that this person owns.
    ///   - role: The role of the people who join.
    ///   - label: What people see before they join, such as the name of the list.
    ///   - uses: How many people may join, from 1 to 10,000. Default: 1.
    ///   - duration: How long the link works, at most a year. Default: 7 days.
    /// - Throws: As ``write(allOrNothing:_:)``, with code `notOwner` or `unknownSpace`.
    public func invite(
        to space: Space.ID, as role: SpaceRole = .writer, label: String, uses: Int = 1,
        for duration: Duration = .seconds(7 * 24 * 3600)
    ) async throws -> SpaceInvitation {
        let (id, secret) = (dependencies.makeID(), InvitationSecret.random())
        let ends = Date(timeIntervalSince1970: Double(correctedMilliseconds) / 1000 + duration / .seconds(1))
        return try await writeSpaces { db in
            try InvitationRow(
                id: id, space: space, role: role.rawValue, label: label, endsAt: ends, uses: uses, used: nil,
                hash: Data(secret.hashBytes)
            ).insert(db)
            try db.execute(
                sql: "DELETE FROM optimist_secret WHERE invitation NOT IN (SELECT id FROM optimist_invitation)")
            try db.execute(sql: "INSERT INTO optimist_secret VALUES (?, ?)", arguments: [id, Data(secret.bytes)])
            return try SpaceInvitation.filter(Column("id") == id).fetchOne(db) ?? Self.missing(space)
        }
    }

    /// Ends an invitation. Its link then admits no more people.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``, with code `notOwner`.
    public func revoke(_ invitation: SpaceInvitation.ID) async throws {
        try await writeSpaces { db in _ = try InvitationRow.deleteOne(db, key: ["id": invitation]) }
    }

    /// Joins a space by a link. The server admits the person when the device is online.
    ///
    /// A second call with the same link changes at most the space's name, if it does not have one. The server ignores
    /// the link of a person who is a member. So a person who was removed can join again with a later link, even if this
    /// device has not heard of the removal yet. If the server refuses the link, it becomes a ``Rejection``. A link that
    /// the server does not know may still be on its way from the device that made it, so the device tries for a day.
    ///
    /// - Parameters:
    ///   - link: The link that the person opened.
    ///   - member: The person's name for the other members.
    ///   - name: The person's own name for the space, such as the label of its ``InvitationPreview``. A space that has
    ///     a name keeps it. Default: nil, and the app calls ``rename(_:to:)`` later.
    /// - Returns: The space, with ``Space/isJoined`` false until the server has admitted the person, and a receipt for
    ///   ``rejections(awaiting:)``.
    /// - Throws: As ``write(allOrNothing:_:)``.
    public func accept(
        _ link: InvitationLink, as member: String, named name: String? = nil
    ) async throws -> (space: Space, receipt: Receipt) {
        let own = dependencies.makeID()
        try requireSpaces()
        let (space, receipt) = try await writeWithReceipt(allOrNothing: true) { db in
            let known = try Self.ownMember(of: link.space, db).flatMap { try MemberRow.fetchOne(db, key: ["id": $0]) }
            let joining = try MemberRow.fetchOne(
                db, sql: "SELECT * FROM optimist_member WHERE space = ? AND ticket IS NOT NULL",
                arguments: [link.space])
            try Self.begin(link.space, named: name, db)
            if joining?.ticket == link.secret.text { return try Self.space(link.space, db) }
            try joining?.delete(db)
            try MemberRow(id: own, space: link.space, name: member, ticket: link.secret.text).insert(db)
            // The known member row may still be the person's.
            if known == nil || known?.id == joining?.id {
                try Self.note(own, in: link.space, ticket: link.secret.text, db)
            }
            return try Self.space(link.space, db)
        }
        return (space, receipt)
    }

    /// Changes the person's own name for a space.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``.
    public func rename(_ space: Space.ID, to name: String) async throws {
        try await writeSpaces { db in
            try db.execute(sql: "UPDATE optimist_space SET name = ? WHERE id = ?", arguments: [name, space])
        }
    }

    /// Gives a member another role. Only owners may.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``, with code `unknownMember`, `notOwner` or `lastOwner`.
    public func setRole(of member: SpaceMember.ID, to role: SpaceRole) async throws {
        try await writeSpaces { db in try Self.setRole(of: member, to: role, db) }
    }

    /// Makes another member the owner of a space, and this person a writer.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``, with code `unknownMember` or `notOwner`.
    public func transfer(_ space: Space.ID, to member: SpaceMember.ID) async throws {
        try await writeSpaces { db in
            guard try MemberRow.fetchOne(db, key: ["id": member])?.space == space else { throw Self.unknownMember }
            try Self.setRole(of: member, to: .owner, db)
            if let own = try Self.ownMember(of: space, db), own != member {
                try Self.setRole(of: own, to: .writer, db)
            }
        }
    }

    /// Removes a member from a space. Only owners may remove others.
    ///
    /// The person's devices lose the rows of the space. Copies that were made before cannot be called back.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``, with code `unknownMember`, `notOwner` or `lastOwner`.
    public func remove(_ member: SpaceMember.ID) async throws {
        try await writeSpaces { db in
            guard try MemberRow.deleteOne(db, key: ["id": member]) else { throw Self.unknownMember }
        }
    }

    /// Leaves a space. The device first sends the unsent rows of the space: see ``Space/pending``. The rows of the space
    /// disappear from this device when the server has confirmed the departure: see ``spaceEnds()``.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``, with code `lastOwner` if other members would have no owner.
    public func leave(_ space: Space.ID) async throws {
        try await writeSpaces { db in
            if let own = try Self.ownMember(of: space, db) { _ = try MemberRow.deleteOne(db, key: ["id": own]) }
        }
    }

    /// Deletes a space for all its members. Only owners may.
    ///
    /// - Throws: As ``write(allOrNothing:_:)``, with code `notOwner`.
    public func deleteSpace(_ space: Space.ID) async throws {
        try await writeSpaces { db in
            try db.execute(sql: "DELETE FROM optimist_member WHERE space = ?", arguments: [space])
        }
    }

    // MARK: - Rows

    private func writeSpaces<T: Sendable>(_ updates: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try requireSpaces()
        return try await write(allOrNothing: true, updates)
    }

    private func requireSpaces() throws {
        if hasSpaces { return }
        throw OptimistError(
            .invalidTable, "No table of the app can be in a space. Give one SyncRules(space:) and open the store again."
        )
    }

    private static func space(_ id: Space.ID, _ db: Database) throws -> Space {
        try Space.filter(Column("id") == id).fetchOne(db) ?? missing(id)
    }

    private static var unknownMember: OptimistError {
        OptimistError(
            .unknownMember,
            "This device does not have the member, who may have left the space. Nothing was written.")
    }

    /// Adds a space to the spaces of the person, and names it if it does not have a name.
    private static func begin(_ space: Space.ID, named name: String?, _ db: Database) throws {
        if let known = try SpaceRow.fetchOne(db, key: ["id": space]) {
            guard known.name == nil, let name else { return }
            try SpaceRow(id: space, name: name).update(db)
        } else {
            try SpaceRow(id: space, name: name).insert(db)
        }
    }

    private static func missing<Value>(_: Space.ID) throws -> Value {
        throw OptimistError(.unknownSpace, "This person does not use the space. Nothing was written.")
    }

    private static func ownMember(of space: Space.ID, _ db: Database) throws -> SpaceMember.ID? {
        try UUID.fetchOne(db, sql: "SELECT member FROM optimist_scope WHERE space = ?", arguments: [space])
    }

    /// Notes the person's own member row before the server knows it.
    private static func note(
        _ member: SpaceMember.ID, in space: Space.ID, ticket: String? = nil, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO optimist_scope(space, member, ticket) VALUES (?, ?, ?)
                ON CONFLICT(space) DO UPDATE SET member = excluded.member, ticket = excluded.ticket
                """, arguments: [space, member, ticket])
    }

    private static func setRole(of member: SpaceMember.ID, to role: SpaceRole, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE optimist_member SET role = ? WHERE id = ?", arguments: [role, member])
        if db.changesCount == 0 { throw unknownMember }
    }
}
