// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) public import OptimistWire

/// A request's means to enter spaces whose members do not include its sender: a space is founded without a ticket,
/// and joined with the ticket of an invitation.
///
/// A store finds an invitation by the hash of its ticket, in the statement that opens or locks the account. To a sender
/// without a valid ticket, an existing space looks like a missing account.
@_spi(Internals) public struct Entrances: Sendable {
    /// The spaces to found if they do not exist.
    public var founding: Set<String> = []
    /// The kind of the spaces to found.
    public var kind = AccountKind.space
    /// The keys of the tickets in the index of invitations, by account.
    public var tickets: [String: Set<IndexKey>] = [:]
    /// The type of invitations.
    public var type = SpaceTypes().invitation
    var now = Date.distantPast

    public static let none = Entrances()

    public init() {}

    /// To found these spaces.
    public init(founding: Set<String>, _ kind: AccountKind = .space) {
        self.founding = founding
        self.kind = kind
    }

    /// To see the invitation of one secret.
    init(_ secret: InvitationSecret, to account: String, _ types: SpaceTypes, at now: Date) {
        tickets = [account: [secret.indexKey]]
        type = types.invitation
        self.now = now
    }

    public var isEmpty: Bool { founding.isEmpty && tickets.isEmpty }

    /// The index of invitations.
    public static let index = UniqueIndex(["hash"])

    /// The reader's right to an account, or nil if the reader may not open it. A ticket counts only for a person who
    /// is not a member.
    ///
    /// - Parameters:
    ///   - membership: The reader's membership in the account, if there ever was one.
    ///   - kind: The account's kind.
    ///   - account: The account, opened without regard to the person. An account that does not exist is empty.
    /// - Throws: The database's error.
    public func access<Account: AccountSnapshot>(
        of reader: Reader, to id: String, _ membership: Membership?, _ kind: AccountKind,
        _ account: @autoclosure () throws -> Account
    ) throws -> Access? {
        let access = Access(of: reader, to: id, membership, kind)
        guard access == nil || access == .visitor else { return access }
        return try joining(account(), membership) ?? access
    }

    /// Nil: no open invitation has one of the tickets, or the space has ended. A ticket that opens nothing takes the
    /// same statements as a ticket that does, also if the account does not exist.
    private func joining(_ account: some AccountSnapshot, _ former: Membership?) throws -> Access? {
        guard let keys = tickets[account.account], !keys.isEmpty else { return nil }
        let found = try account.holders(type: type, index: Self.index.name, keys: keys.sorted()).values
        let ids = found.isEmpty ? [""] : found.flatMap(\.self).sorted()
        let invitations = try account.rows(type: type, ids: ids).compactMap { id, stored in
            Invitation(RowKey(type, id), stored)
        }
        let open = invitations.filter { $0.admits(former, at: now) }.min { $0.key.id < $1.key.id }
        let hasMembers = try !account.members().isEmpty
        return hasMembers ? open.map { .joining($0) } : nil
    }
}

extension InvitationSecret {
    var indexKey: IndexKey { IndexKey(String(decoding: JSON.array([.string(hash)]).canonicalBytes, as: UTF8.self)) }
}

extension Request {
    /// The spaces that the request may enter, because it creates a member row in them.
    func entrances(by settings: ServingSettings, at now: Date) -> Entrances {
        var entrances = Entrances()
        let types = settings.spaceTypes
        (entrances.type, entrances.now) = (types.invitation, now)
        guard settings.schema.types[types.member] != nil else { return entrances }
        let vocabulary = Vocabulary(settings.schema, version: schemaVersion)
        for call in methodCalls where call.isSet {
            let type = call.name.split(separator: "/").first.map { vocabulary.presentType(String($0)) }
            guard type == types.member, let account = call.arguments["accountId"]?.string,
                SpaceAccount.space(of: account) != nil, let rows = call.arguments["create"]?.object, !rows.isEmpty
            else { continue }
            for (_, row) in rows {
                guard let ticket = row[SpaceTypes.ticket], !ticket.isNull else { continue }
                let key = ticket.string.flatMap { InvitationSecret($0) }?.indexKey
                entrances.tickets[account, default: []].formUnion(key.map { [$0] } ?? [])
            }
            if entrances.tickets[account] == nil { entrances.founding.insert(account) }
        }
        entrances.founding.subtract(entrances.tickets.keys)
        return entrances
    }
}

extension SetCall {
    /// Removes the tickets, which have been read when the accounts were opened. Nothing else may see them.
    mutating func dropTickets() {
        for index in create.indices { create[index].patch.values[SpaceTypes.ticket] = nil }
        for index in update.indices { update[index].patch.values[SpaceTypes.ticket] = nil }
    }
}
