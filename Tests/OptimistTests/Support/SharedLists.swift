// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// An app whose lists can be shared, with the items below them. Notes are always personal.
struct SharedList: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "list"
    static let syncRules = SyncRules(space: .own("space"))
    var id = UUID()
    var name = ""
    var space: UUID?
}

struct SharedItem: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "item"
    static let syncRules = SyncRules(space: .of("listID"))
    var id = UUID()
    var listID: UUID
    var text = ""
}

struct PersonalNote: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "note"
    var id = UUID()
    var text = ""
}

extension UUID {
    var wire: String { uuidString.lowercased() }
}

extension Schema {
    static var sharedLists: Schema {
        var schema = Schema(
            id: "lists",
            types: [
                "list": TypeSchema(columns: ["name": ColumnSchema(.string), "space": ColumnSchema(.ref)]),
                "item": TypeSchema(columns: [
                    "listID": ColumnSchema(.ref, target: "list", onDelete: .cascade), "text": ColumnSchema(.string),
                ]), "note": TypeSchema(columns: ["text": ColumnSchema(.string)]),
            ])
        schema.types["list"]?.space = .own("space")
        schema.types["list"]?.uniqueIndexes = [UniqueIndex(["name"])]
        schema.types["item"]?.space = .of("listID")
        return schema
    }
}

/// The requests of persons without a device.
extension InMemoryServer {
    /// Carries out one call for each type, as one person, without clocks.
    @discardableResult
    func set(
        _ arguments: JSONObject, of type: String, in space: UUID? = nil, as person: String
    ) async throws -> JSONObject {
        admit(person)
        var arguments = arguments
        arguments["accountId"] = .string(SpaceAccount.id(of: space?.wire, own: person))
        let request = Request(methodCalls: [Invocation("\(type)/set", arguments, callID: "0")])
        let answer = try #require(try await answer(request, as: person).methodResponses.first)
        let set = try #require(SetAnswer(json: answer.arguments), "\(answer)")
        #expect((set.notCreated + set.notUpdated + set.notDestroyed).isEmpty, "\(answer)")
        return answer.arguments
    }

    func create(_ type: String, _ id: UUID, _ row: JSONObject, in space: UUID? = nil, as person: String) async throws {
        try await set(["create": .object([id.wire: .object(row)])], of: type, in: space, as: person)
    }

    func delete(_ type: String, _ id: UUID, in space: UUID? = nil, as person: String) async throws {
        try await set(["destroy": [.string(id.wire)]], of: type, in: space, as: person)
    }

    /// Founds a space with one list of the space's name.
    @discardableResult
    func found(_ space: UUID, by person: String, listed: Bool = true) async throws -> SharedList {
        let list = SharedList(name: "list of \(person)", space: space)
        try await create(
            "optimist_member", UUID(), ["space": .string(space.wire), "name": .string(person), "role": "owner"],
            in: space, as: person)
        try await create(
            "list", list.id, ["name": .string(list.name), "space": .string(space.wire)], in: space, as: person)
        if listed { try await subscribe(person, to: space) }
        return list
    }

    func subscribe(_ person: String, to space: UUID) async throws {
        try await create("optimist_space", space, ["name": "shared"], as: person)
    }

    /// Makes a person a member, as an accepted invitation does.
    func join(_ space: UUID, _ person: String) async throws {
        admit(person)
        let id = UUID().wire
        try await store.write(account: SpaceAccount.id(of: space.wire, own: ""), as: .operator) { account in
            var merged = MergeRow(generation: 1)
            for (column, value) in ["space": space.wire, "name": person, "role": "writer"] {
                merged.cells[column] = Cell(.string(value), WriteClock(stamp: .zero, device: "server"))
            }
            var change = RowChange(
                key: RowKey("optimist_member", id), row: merged, memory: RowMemory(person: person), bornSeq: nil,
                droppedEntries: [], addedEntries: [])
            change.membership = MembershipChange(person: person, memberID: id, role: .writer, end: nil)
            _ = try account.append([change], day: 1)
        }
        try await subscribe(person, to: space)
    }

    func members(of space: UUID) throws -> [Membership] {
        try store.reading(SpaceAccount.id(of: space.wire, own: ""), as: .operator) { try $0.members() }
    }

    /// An owner removes a person.
    func remove(_ person: String, from space: UUID, by owner: String) async throws {
        let member = try #require(try members(of: space).first { $0.person == person && $0.end == nil })
        try await delete("optimist_member", #require(UUID(uuidString: member.memberID)), in: space, as: owner)
    }
}

/// A device of a person, which syncs when the test says so.
final class ListPhone: Sendable {
    let device: Device
    let remote: InMemoryRemote
    /// Failures of single spaces, each for the given number of pulls.
    let troubles = Mutexed<[UUID: [RemoteFailure]]>([:])
    /// The spaces of each pull of several accounts.
    let batches = Mutexed<[[String]]>([])
    let questions = Mutexed(0)
    private let engine: Mutexed<SyncEngine?>

    init(_ server: InMemoryServer, _ person: String) throws {
        device = try Device([SharedList.self, SharedItem.self, PersonalNote.self], migrate: Self.migrate)
        remote = InMemoryRemote(server, person: person)
        engine = Mutexed(nil)
        engine.value = SyncEngine(store: device.store, remote: self.troubled, reachability: ManualReachability())
    }

    var store: Store { device.store }
    private var troubled: TroubledRemote { TroubledRemote(phone: self, base: remote) }

    private static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '', space BLOB);
                    CREATE UNIQUE INDEX listName ON list(space, name);
                    CREATE UNIQUE INDEX ownListName ON list(name) WHERE space IS NULL;
                    CREATE TABLE item(
                        id BLOB PRIMARY KEY NOT NULL, listID BLOB NOT NULL REFERENCES list(id) ON DELETE CASCADE,
                        text TEXT NOT NULL DEFAULT '');
                    CREATE TABLE note(id BLOB PRIMARY KEY NOT NULL, text TEXT NOT NULL DEFAULT '');
                    """)
        }
    }

    func preview(of link: InvitationLink) async throws -> InvitationCheck {
        try await #require(engine.value).preview(of: link)
    }

    @discardableResult
    func sync() async throws -> SyncOutcome { try await #require(engine.value).syncOnce() }

    /// The names of the lists, in order.
    func lists() async throws -> [String] {
        try await store.read { try String.fetchAll($0, sql: "SELECT name FROM list ORDER BY name") }
    }

    func entry(_ table: String, _ id: UUID) async throws -> RowEntry? {
        let layout = try #require(store.layout(named: table))
        return try await store.read { db in
            try RowEntryTable(db).entry(RowRef(table: layout.number, id: id.databaseValue))
        }
    }

    func scope(of space: UUID) async throws -> Scope? {
        try await store.read { db in
            try Scope.number(ofSpace: space.wire, in: db).map { try Scope.fetch($0, in: db) }
        }
    }

    func count(_ sql: String) async throws -> Int {
        try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(sql)") ?? 0 }
    }
}

/// The phone's connection, in which single spaces fail.
private struct TroubledRemote: Remote {
    unowned let phone: ListPhone
    let base: InMemoryRemote

    var guarantees: RemoteGuarantees { base.guarantees }
    func connect() async throws -> RemoteAccount { try await base.connect() }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { try await base.push(push) }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await base.pull(request) }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try await base.snapshot(request)
    }

    func preview(of link: InvitationLink) async throws -> InvitationPreview? { try await base.preview(of: link) }

    func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces {
        phone.questions.value += 1
        return try await base.changedSpaces(since: cursors)
    }

    func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>] {
        phone.batches.value.append(requests.compactMap(\.space))
        return zip(requests, try await base.pullAll(requests)).map { request, page in
            guard let space = request.space.flatMap(UUID.init), var failures = phone.troubles.value[space],
                !failures.isEmpty
            else { return page }
            let failure = failures.removeFirst()
            phone.troubles.value[space] = failures
            return .failure(failure)
        }
    }
}
