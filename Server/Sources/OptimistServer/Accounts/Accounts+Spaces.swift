// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// An operator's order about spaces, from `optimist space …`. A space is named by its id or its account.
package enum SpaceOrder: Codable, Hashable, Sendable {
    case list
    case show(space: String)
    case members(space: String)
    /// The latest events, newest first. Also of a space deleted in the last year.
    case audit(space: String, limit: Int)
    /// - Parameter name: The owner's name in the space.
    case create(space: String, isPublic: Bool, owner: String, name: String)
    case setOwner(space: String, email: String)
    /// - Parameter member: The email address or the id of the person's account.
    case removeMember(space: String, member: String)
    /// Keeps a receipt.
    case delete(space: String)
}

extension Accounts {
    /// - Throws: ``OptimistError`` with code `account.notFound` or `space.refused`.
    func carryOut(_ order: SpaceOrder) async throws -> JSON {
        switch order {
        case .list:
            var spaces: [JSON] = []
            for account in try await self.spaces.spaces() { spaces.append(try await summary(of: account).json) }
            return ["spaces": .array(spaces)]
        case .show(let space):
            let summary = try await self.summary(of: space)
            guard var shown = summary.json.object else { return .null }
            shown["events"] = .array(try await events(of: summary.account, limit: 10))
            return .object(shown)
        case .audit(let space, let limit):
            let account = SpaceAccount.id(ofSpace: space.lowercased()) ?? space
            let events = try await self.events(of: account, limit: limit)
            if events.isEmpty { _ = try await summary(of: space) }
            return ["events": .array(events)]
        case .members(let space):
            var members: [JSON] = []
            for member in try await summary(of: space).members {
                let email = try await store.account(id: member.person)?.email
                members.append([
                    "person": .string(member.person), "email": email.map(JSON.string) ?? .null,
                    "role": .string(member.role.rawValue), "joinedSeq": .int(member.joinedSeq),
                ])
            }
            return ["members": .array(members)]
        case .create(let space, let isPublic, let owner, let name):
            guard RowID.isValid(space), let account = SpaceAccount.id(ofSpace: space) else {
                throw OptimistError(.spaceRefused, "The id of a space is a UUID in lower case.")
            }
            let person = try await self.account(owner).id
            let kind: AccountKind = isPublic ? .publicSpace : .space
            guard let change = try await spaces.create(account, kind, owner: person, row: makeRowID(), name: name)
            else {
                throw OptimistError(.spaceRefused, "A space has this id, or had it until recently. Use another id.")
            }
            changed(account, change)
            return ["space": .string(space), "account": .string(account)]
        case .setOwner(let space, let email):
            let (person, account) = (try await self.account(email).id, try await summary(of: space).account)
            changed(account, try await spaces.makeOwner(person, of: account, row: makeRowID()))
            return ["owner": .string(person)]
        case .removeMember(let space, let member):
            let account = try await summary(of: space).account
            return try await remove(member.contains("@") ? self.account(member).id : member, from: account)
        case .delete(let space):
            let account = try await summary(of: space).account
            changed(account, try await spaces.end(account))
            try await delete(space: account)
            guard let receipt = try await receipts(of: account).first else { throw OptimistError.noSpace }
            return ["deleted": .string(account), "receipt": receipt]
        }
    }

    private func events(of account: String, limit: Int) async throws -> [JSON] {
        try await store.events(of: account, before: nil, limit: limit).map { .object($0.json) }
    }

    private func summary(of space: String) async throws -> SpaceCare.Summary {
        let account = SpaceAccount.id(ofSpace: space.lowercased()) ?? space
        guard SpaceAccount.space(of: account) != nil else { throw OptimistError.noSpace }
        do { return try await spaces.summary(of: account) } catch StoreError.noAccount { throw OptimistError.noSpace }
    }

    private func remove(_ person: String, from account: String) async throws -> JSON {
        switch try await spaces.remove(person, from: account) {
        case .removed(let change): changed(account, change)
        case .notMember:
            throw OptimistError(.notFound, "The person is not a member. `optimist space members` lists all.")
        case .lastOwner:
            throw OptimistError(
                .spaceRefused,
                """
                The person is the only owner. Make another person an owner first with `optimist space owner`, or delete \
                the space with `optimist space delete`.
                """)
        }
        return ["removed": .string(person)]
    }

    // MARK: - The end of a person

    /// Takes a person whose account was deleted out of every space, and deletes the spaces without other members.
    ///
    /// - Parameter ownerless: Nil: as the server is configured.
    func leaveSpaces(_ person: String, ownerless: OwnerlessSpaces? = nil) async throws {
        let isInherited = (ownerless ?? settings.ownerlessSpaces) == .inherit
        for account in try await store.spaces(of: person) {
            do {
                let (departure, change) = try await spaces.forget(person, in: account, isInherited: isInherited)
                changed(account, change)
                if departure == .ends { try await delete(space: account) }
            } catch StoreError.noAccount {
                // Another call has deleted it.
            }
        }
    }

    /// The effects that the deletion of a person's account would have on the spaces.
    func deletionForecast(of person: String) async throws -> JSON {
        var found: [JSON] = []
        for account in try await store.spaces(of: person) {
            let isInherited = settings.ownerlessSpaces == .inherit
            do {
                let forecast = try await spaces.forecast(of: person, in: account, isInherited: isInherited)
                if let forecast { found.append(forecast.json(of: account)) }
            } catch StoreError.noAccount {
                // It was deleted.
            }
        }
        return ["spaces": .array(found)]
    }

    /// Deletes the spaces whose last members have left. Such a space cannot be joined.
    func deleteEndedSpaces() async throws {
        for account in try await store.endedSpaces() where try await store.delete(ended: account, at: time) {
            try await erase(space: account)
        }
    }

    private func delete(space account: String) async throws {
        try await store.delete(space: account, at: time)
        try await erase(space: account)
    }

    private func erase(space account: String) async throws {
        try await store.erase(account: account)
        try await store.forgetPositions(in: account)
    }

    private func changed(_ account: String, _ change: SpaceCare.Change) {
        tell(account, [spaces.type], change.state)
        for event in change.events { spaceLog.note(event, in: account) }
    }

    private func makeRowID() -> String { makeID().uuidString.lowercased() }
}

extension OptimistError.Code {
    /// The operator's order would leave a space without an owner, or names an id that cannot be used.
    package static let spaceRefused = Self("space.refused")
}

extension OptimistError {
    package static var noSpace: Self {
        OptimistError(.notFound, "There is no such space. `optimist space list` lists all spaces.")
    }
}

extension SpaceCare.Forecast {
    fileprivate func json(of account: String) -> JSON {
        var heir: JSON = .null
        if case .leaves(let membership?) = departure {
            heir = ["member": .string(membership.memberID), "name": heirName.map(JSON.string) ?? .null]
        }
        return [
            "space": SpaceAccount.space(of: account).map(JSON.string) ?? .null,
            "role": .string(membership.role.rawValue), "members": .int(Int64(members)),
            "ends": .bool(departure == .ends), "heir": heir,
        ]
    }
}

extension SpaceCare.Summary {
    fileprivate var json: JSON {
        [
            "space": SpaceAccount.space(of: account).map(JSON.string) ?? .null, "account": .string(account),
            "kind": .string(kind.rawValue), "members": .int(Int64(members.count)),
            "owners": .int(Int64(members.count { $0.role == .owner })), "rows": .int(Int64(rows)), "seq": .int(seq),
        ]
    }
}
