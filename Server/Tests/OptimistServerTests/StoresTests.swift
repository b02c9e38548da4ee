// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// What the database store and the in-memory store do alike.
@Suite(.timeLimit(.minutes(20)))
struct StoresTests {
    enum Kind: CaseIterable { case durable, inMemory }

    private static let composed: JSON = "Caf\u{E9}"
    private static let decomposed: JSON = "Cafe\u{301}"

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    private func store(_ kind: Kind) async throws -> any SyncStore {
        switch kind {
        case .durable: return try await place.open(epoch: "e1", schema: Self.schema)
        case .inMemory: return InMemorySyncStore(accounts: [StoreFile.account], epoch: "e1")
        }
    }

    private static var schema: Schema {
        var schema = Schema.projects
        schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"])]
        schema.types["Todo"]?.editWins = true
        schema.types["Todo"]?.columns["likes"] = ColumnSchema(.counter)
        return schema
    }

    private func set(_ type: String, _ arguments: JSONObject, in store: any SyncStore) async throws -> SetAnswer {
        let settings = ServingSettings(schema: Self.schema, makeRowID: { UUID().uuidString.lowercased() })
        let service = JMAPService(store: store, settings: settings, now: { Date(timeIntervalSince1970: 1_800_000_000) })
        var arguments = arguments
        arguments.append("accountId", .string(StoreFile.account))
        let request = Request(methodCalls: [Invocation("\(type)/set", arguments, callID: "0")])
        let outcome = try await service.answer(request.json.bytes, as: .person(StoreFile.account))
        let answers = try #require(Response(json: JSON(parsing: outcome.response))).methodResponses
        return try #require(SetAnswer(json: answers[0].arguments))
    }

    // MARK: - Unique values

    @Test(arguments: Kind.allCases)
    func `M6 canonically equivalent texts are distinct values, and a row that takes another value frees its own`(
        kind: Kind
    ) async throws {
        let store = try await store(kind)
        func list(_ number: Int, _ name: JSON) -> JSONObject { ["create": [RowKey.list(number).id: ["name": name]]] }
        _ = try await set("List", list(1, Self.composed), in: store)
        _ = try await set("List", ["update": [RowKey.list(1).id: ["name": Self.decomposed]]], in: store)
        #expect(try await set("List", list(2, Self.composed), in: store).notCreated.isEmpty)
        let error = try await set("List", list(3, Self.decomposed), in: store).notCreated.first?.error
        #expect(error?.type == "uniqueViolation" && error?.winner == RowKey.list(1).id)
    }

    @Test(arguments: Kind.allCases, [true, false])
    func `M6 rows with canonically equivalent texts coexist, in one push and in two`(
        kind: Kind, isOne: Bool
    ) async throws {
        let store = try await store(kind)
        let rows: [JSONObject.Member] = [
            (RowKey.list(1).id, ["name": Self.composed]), (RowKey.list(2).id, ["name": Self.decomposed]),
        ]
        let pushes: [[JSONObject.Member]] = isOne ? [rows] : rows.map { [$0] }
        for rows in pushes {
            #expect(try await set("List", ["create": .object(JSONObject(rows))], in: store).notCreated.isEmpty)
        }
        let count = try await store.read(account: StoreFile.account, as: .operator) { try $0.livingCount(type: "List") }
        #expect(count == 2)
    }

    // MARK: - The size of a page

    @Test(arguments: Kind.allCases)
    func `R1 a page does not read a tombstone's hidden values`(kind: Kind) async throws {
        let store = try await store(kind)
        let id = RowKey.todo(1).id
        _ = try await set("Todo", ["create": [id: ["content": "kept"]]], in: store)
        _ = try await set("Todo", ["destroy": [.string(id)]], in: store)
        let kept = try await store.read(account: StoreFile.account, as: .operator) {
            try $0.rows(type: "Todo", ids: [id])
        }
        #expect(kept[id]?.row.cells["content"]?.value == "kept")
        let page = try await changes(in: store)
        #expect(page.rows.map(\.generation) == [2])
        #expect(page.rows.allSatisfy { $0.hidden == nil })
    }

    @Test(arguments: Kind.allCases)
    func `R1 R6 the totals behind counters count toward the size of a page`(kind: Kind) async throws {
        let store = try await store(kind)
        let totals = (10..<30).map { number -> JSON in
            let clock = WriteClock.at(1, "device\(number)")
            return ["@total": 1, "origin": .string(clock.device), "@hlc": .string(clock.description)]
        }
        let todo: JSON = ["content": "x", "likes": .array(totals), "@hlc": .string(WriteClock.at(0).description)]
        let ids = (1...3).map { RowKey.todo($0).id }
        _ = try await set("Todo", ["create": .object(JSONObject(ids.map { ($0, todo) }))], in: store)
        let shown = try await changes(in: store).rows.reduce(0) { $0 + $1.content.count }
        #expect(try await changes(in: store, maxBytes: shown).rows.map(\.id) == [ids[0]])
        let living = try await store.read(account: StoreFile.account, as: .operator) { account in
            [
                try account.livingRows(type: "Todo", after: nil, limit: 9, maxBytes: shown),
                try account.livingRows(type: "Todo", ids: ids, maxBytes: shown),
            ]
        }
        #expect(living.map(\.rows.count) == [1, 1])
        #expect(living.map(\.hasMore) == [true, true])
    }

    private func changes(in store: any SyncStore, maxBytes: Int = .max) async throws -> ChangePage {
        try await store.read(account: StoreFile.account, as: .operator) {
            try $0.changes(type: "Todo", from: .start, limit: 9, maxBytes: maxBytes)
        }
    }
}
