// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// A server with one space, and its clients.
struct ServedSpace {
    static let people = ["ann", "bob", "eve"]
    static let space = RowKey.id(0xABC)
    static let account = SpaceAccount.id(ofSpace: space) ?? ""
    static let annRow = RowKey.id(0xA)
    static let bobRow = RowKey.id(0xB)

    let store: any SyncStore
    let service: JMAPService
    let types: SpaceTypes

    static var schema: Schema {
        var schema = Schema.projects
        schema.types["List"]?.columns["space"] = ColumnSchema(.ref)
        schema.types["List"]?.space = .own("space")
        schema.types["Todo"]?.space = .of("listId")
        schema.types["Memo"] = TypeSchema(columns: ["text": ColumnSchema(.string)])
        return schema
    }

    init(
        _ kind: StoresTests.Kind, at place: StorePlace, schema: Schema = Self.schema, types: SpaceTypes = SpaceTypes(),
        epoch: String = "e1", people: [String] = Self.people, limits: SpaceLimits = SpaceLimits(),
        now: @escaping @Sendable () -> Date = { ServedSpace.now }
    ) async throws {
        let store: any SyncStore =
            switch kind {
            case .durable: try await place.open(epoch: epoch, schema: schema, accounts: people)
            case .inMemory: InMemorySyncStore(accounts: people, epoch: "e1")
            }
        self.init(on: store, schema: schema, types: types, limits: limits, now: now)
    }

    init(
        on store: any SyncStore, schema: Schema = Self.schema, types: SpaceTypes = SpaceTypes(),
        limits: SpaceLimits = SpaceLimits(), now: @escaping @Sendable () -> Date = { ServedSpace.now }
    ) {
        (self.store, self.types) = (store, types)
        let settings = ServingSettings(
            schema: schema, makeRowID: { UUID().uuidString.lowercased() }, workBudget: .unlimited,
            spaceTypes: types, spaceLimits: limits)
        service = JMAPService(store: store, settings: settings, now: now)
    }

    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func list(_ space: String?) -> JSON {
        ["name": "l", "space": space.map(JSON.string) ?? .null]
    }

    static func lists(_ number: Int, _ space: String? = Self.space) -> JSONObject {
        ["create": [RowKey.list(number).id: list(space)]]
    }

    func send(
        _ calls: [Invocation], as person: String, push: Int64? = nil, device: String? = nil, groups: [[RowKey]] = []
    ) async throws -> [Invocation] {
        let device = push == nil ? nil : device ?? "device\(person)"
        let request = Request(
            methodCalls: calls, device: device, push: push, groups: groups.map { $0.map(\.description) })
        let outcome = try await service.answer(request.json.bytes, as: .person(person))
        return try #require(Response(json: JSON(parsing: outcome.response))).methodResponses
    }

    func call(_ name: String, _ arguments: JSONObject, in account: String = Self.account) -> Invocation {
        var arguments = arguments
        arguments["accountId"] = .string(account)
        return Invocation(name, arguments, callID: "0")
    }

    /// The refusals of one call, or the method's error, by the client's id.
    func refusals(_ answer: Invocation) throws -> [String: String] {
        guard let set = SetAnswer(json: answer.arguments) else {
            return ["": try #require(answer.arguments["type"]?.string)]
        }
        let all = set.notCreated + set.notUpdated + set.notDestroyed
        return Dictionary(all.map { ($0.id, $0.error.type) }, uniquingKeysWith: { $1 })
    }

    func set(
        _ type: String, _ arguments: JSONObject, as person: String, in account: String = Self.account
    ) async throws -> [String: String] {
        try refusals(try await send([call("\(type)/set", arguments, in: account)], as: person)[0])
    }

    func member(_ role: String, name: String = "n") -> JSON {
        ["space": .string(Self.space), "name": .string(name), "role": .string(role)]
    }

    /// The secret of a link.
    static func secret(_ number: UInt8) -> InvitationSecret {
        guard let secret = InvitationSecret(bytes: Array(repeating: number, count: InvitationSecret.byteCount)) else {
            preconditionFailure("A secret has 32 bytes.")
        }
        return secret
    }

    func invitation(_ secret: InvitationSecret, role: String = "writer", _ more: JSONObject = [:]) -> JSON {
        var row: JSONObject = [
            "space": .string(Self.space), "role": .string(role), "label": "Home", "hash": .string(secret.hash),
        ]
        for (column, value) in more { row[column] = value }
        return .object(row)
    }

    /// Makes an invitation, with the secret of the same number.
    func invite(
        _ number: UInt8 = 1, role: String = "writer", _ more: JSONObject = [:], by person: String = "ann"
    ) async throws -> [String: String] {
        let row = invitation(Self.secret(number), role: role, more)
        return try await set(types.invitation, ["create": [RowKey.id(0x100 + Int(number)): row]], as: person)
    }

    /// A call that creates a member row with a ticket.
    func joining(
        _ number: UInt8 = 1, row: String = Self.bobRow, role: String? = nil, in account: String = Self.account,
        space: String = Self.space
    ) -> Invocation {
        var member: JSONObject = [
            "space": .string(space), "name": "Bob", "ticket": .string(Self.secret(number).text),
        ]
        if let role { member["role"] = .string(role) }
        return call("\(types.member)/set", ["create": [row: .object(member)]], in: account)
    }

    func join(_ number: UInt8 = 1, as person: String = "bob", row: String = Self.bobRow) async throws -> [String:
        String]
    {
        try refusals(try await send([joining(number, row: row)], as: person)[0])
    }

    /// The values of a stored row.
    func row(_ type: String, _ id: String) async throws -> JSONObject {
        let stored = try await store.read(account: Self.account, as: .operator) {
            try $0.rows(type: type, ids: [id])[id]
        }
        return try #require(stored).row.patch().values
    }

    func found(by person: String = "ann", _ id: String = Self.annRow) async throws -> [String: String] {
        try await set(types.member, ["create": [id: member("owner")]], as: person)
    }

    /// Makes a person a member, as an accepted invitation does.
    func admit(_ person: String, _ role: Role, row: String = Self.bobRow) async throws {
        let member = types.member
        try await store.write(account: Self.account, as: .operator) { account in
            var merged = MergeRow(generation: 1)
            for (column, value) in ["space": Self.space, "name": "n", "role": role.rawValue] {
                merged.cells[column] = Cell(.string(value), .at(-1))
            }
            var change = RowChange(
                key: RowKey(member, row), row: merged, memory: RowMemory(person: person), bornSeq: nil,
                droppedEntries: [], addedEntries: [])
            change.membership = MembershipChange(person: person, memberID: row, role: role, end: nil)
            _ = try account.append([change], day: 1)
        }
    }

    func memberships() async throws -> [String: Role] {
        try await store.read(account: Self.account, as: .operator) { account in
            Dictionary(uniqueKeysWithValues: try account.members().map { ($0.person, $0.role) })
        }
    }

    func rows(_ type: String, in account: String = Self.account) async throws -> Int {
        try await store.read(account: account, as: .operator) { try $0.livingCount(type: type) }
    }
}
