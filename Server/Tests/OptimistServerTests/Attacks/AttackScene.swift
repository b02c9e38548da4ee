// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// A running server with spaces, their members, and the people who attack them. Attackers know every id.
struct AttackScene {
    enum Role: String, CaseIterable, Sendable {
        /// Owns the spaces.
        case owner
        /// Never a member of an attacked space.
        case outsider
        /// Was a member of ``AttackedSpace/home`` until an owner removed the person.
        case removed
        /// Was a member of ``AttackedSpace/home`` until the person left.
        case left
        case reader, writer
        /// A member of ``AttackedSpace/club``, whose invitation is used.
        case friend
    }

    let site: Site
    let server: OptimistServer
    let http: HTTPSide
    let tables: StoredTables
    private(set) var people: [Role: Person] = [:]
    /// The owner's session.
    private(set) var session = ""

    func person(_ role: Role) throws -> Person { try #require(people[role]) }

    init(_ site: Site, _ server: OptimistServer, _ http: HTTPSide) async throws {
        self.site = site
        self.server = server
        self.http = http
        tables = try StoredTables(of: server, at: site)
        for role in Role.allCases {
            let mark = role == .owner ? AttackedSpace.marks[0] : ""
            people[role] = try await http.signUp("\(mark)\(role)@example.org", device: role.rawValue)
        }
        let sessions = try await server.storage.accounts.sessions(of: person(.owner).account, refreshedSince: 0)
        session = try #require(sessions.first?.id)
    }

    /// Makes the spaces. The former members are still members.
    func begin() async throws {
        for space in [AttackedSpace.home, .club, .bare] {
            try await found(space, isFull: space != .bare)
            if space == .club {
                try await join(space, .friend, .used, RowKey.id(0xB05))
            } else {
                try await join(space, .removed, .used, AttackedSpace.formerRows[0])
                try await join(space, .left, .open, AttackedSpace.formerRows[1])
            }
        }
    }

    /// Ends the memberships and the tickets of the attackers, and admits the other members.
    func end() async throws {
        for space in [AttackedSpace.home, .bare] {
            let removal: JSONObject = ["destroy": [.string(AttackedSpace.formerRows[0])]]
            try await send([space.call("optimist_member/set", removal)], as: .owner)
            let leaving: JSONObject = ["destroy": [.string(AttackedSpace.formerRows[1])]]
            try await send([space.call("optimist_member/set", leaving)], as: .left)
        }
        try await join(.home, .reader, .open, AttackedSpace.readerRow)
        try await join(.home, .writer, .open, AttackedSpace.writerRow)
        let lower: JSONObject = ["update": [AttackedSpace.readerRow: ["role": "reader"]]]
        try await send([AttackedSpace.home.call("optimist_member/set", lower)], as: .owner)
        for space in [AttackedSpace.home, .club, .bare] {
            let revocation: JSONObject = ["destroy": [.string(Ticket.revoked.row)]]
            try await send([space.call("optimist_invitation/set", revocation)], as: .owner)
        }
        // The ticket with an end has ended.
        site.advance(by: 120)
        // From now on the seqs of the spaces are words that no answer may have.
        for space in [AttackedSpace.home, .club] {
            let sql = "UPDATE optimist_accounts SET seq = \(AttackedSpace.seq) WHERE account_id = '\(space.account)'"
            try tables.execute(sql)
            try await addList(2, to: space)
        }
    }

    func addList(_ number: Int, to space: AttackedSpace) async throws {
        let create: JSONObject = ["create": [RowKey.list(number).id: .object(space.values("List"))]]
        try await send([space.call("List/set", create)], as: .owner)
    }

    private func found(_ space: AttackedSpace, isFull: Bool) async throws {
        func create(_ type: String) -> Invocation {
            space.call("\(type)/set", ["create": [AttackedSpace.row(type): .object(space.values(type))]])
        }
        let types = ["optimist_member"] + (isFull ? ["List", "Todo"] : [])
        // One push, and so one seq in a full and in an empty space.
        try await send(types.map(create), as: .owner, push: space.hashNumber)
        let invitations = Ticket.invited.map { ticket -> JSONObject.Member in
            var row = space.values("optimist_invitation")
            row["hash"] = .string(ServedSpace.secret(ticket.rawValue).hash)
            row["role"] = "writer"
            row["uses"] = .int(ticket == .open ? 100 : 1)
            if ticket == .ended { row["endsAt"] = .string(site.now.addingTimeInterval(60).formatted(.iso8601)) }
            return (ticket.row, .object(row))
        }
        try await send(
            [space.call("optimist_invitation/set", ["create": .object(JSONObject(invitations))])], as: .owner)
    }

    private func join(_ space: AttackedSpace, _ role: Role, _ ticket: Ticket, _ row: String) async throws {
        let use = Invocation(
            "optimist_space/set",
            ["accountId": .string(try person(role).account), "create": [space.space: ["name": "mine"]]], callID: "0")
        try await send([use, space.joining(ticket, row: row)], as: role)
    }

    /// Sends calls that must succeed.
    @discardableResult
    func send(_ calls: [Invocation], as role: Role, push: Int64? = nil) async throws -> [Invocation] {
        let answers = try await server.call(
            person(role), calls.map { ($0.name, .object($0.arguments)) }, push: push, device: "device\(role)")
        for answer in answers {
            #expect(answer.error == nil, "\(answer.arguments)")
            for refused in ["notCreated", "notUpdated", "notDestroyed"] {
                #expect(answer.arguments[refused] ?? .null == .null, "\(answer.arguments)")
            }
        }
        return answers
    }
}

extension AttackedSpace {
    /// A push number of the owner, later for each space.
    fileprivate var hashNumber: Int64 { Int64([Self.home, .club, .bare].firstIndex(of: self) ?? 0) + 1 }
}
