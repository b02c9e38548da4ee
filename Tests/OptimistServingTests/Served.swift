// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistServing

/// A service on an in-memory store with one account; tests control its time and epochs.
final class Served: Sendable {
    static let account = "a1"
    let store: InMemorySyncStore
    private let present: Mutex<Schema>
    private let rowValidation: RowValidation
    private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

    init(_ schema: Schema = ModelStore.projects, rowValidation: RowValidation = RowValidation()) {
        self.rowValidation = rowValidation
        present = Mutex(schema)
        store = InMemorySyncStore(accounts: [Self.account], epoch: "e1")
        store.accept(schema)
    }

    private var schema: Schema { present.withLock(\.self) }

    var now: Date { time.withLock(\.self) }
    func advance(days: Double) { time.withLock { $0 += days * 86_400 } }

    /// Restarts the server, optionally from a backup or with another schema.
    func restart(_ name: String, from backup: InMemorySyncStore.Contents? = nil, by schema: Schema? = nil) {
        if let schema { present.withLock { $0 = schema } }
        if let backup { store.contents = backup }
        store.begin(epoch: name)
        store.accept(self.schema)
    }

    /// Answers calls, and adds the account to each.
    func call(
        _ calls: [(String, JSON)], push: Int64? = nil, device: String = "deviceAA", groups: [[String]] = [],
        schemaVersion: Int? = nil, using: [String] = [RowSync.core, RowSync.capability]
    ) async throws -> [Invocation] {
        try await answer(
            calls, push: push, device: device, groups: groups, schemaVersion: schemaVersion, using: using
        ).methodResponses
    }

    /// Answers calls and returns the complete response.
    func answer(
        _ calls: [(String, JSON)], push: Int64? = nil, device: String = "deviceAA", groups: [[String]] = [],
        schemaVersion: Int? = nil, using: [String], createdIDs: [String: String]? = nil
    ) async throws -> Response {
        let settings = ServingSettings(
            schema: schema, makeRowID: { UUID().uuidString.lowercased() }, rowValidation: rowValidation)
        let service = JMAPService(store: store, settings: settings, now: { self.now })
        let invocations = calls.enumerated().map { index, call in
            var arguments = call.1.object ?? [:]
            arguments.append("accountId", .string(Self.account))
            return Invocation(call.0, arguments, callID: "\(index)")
        }
        let request = Request(
            using: using, methodCalls: invocations, device: push == nil ? nil : device, push: push,
            schemaVersion: schemaVersion, groups: groups, createdIDs: createdIDs)
        let outcome = try await service.answer(request.json.bytes, as: .person(Self.account))
        return try #require(Response(json: JSON(parsing: outcome.response)))
    }

    /// Answers one call and returns its arguments.
    func call(_ name: String, _ arguments: JSON, push: Int64? = nil, schemaVersion: Int? = nil) async throws
        -> JSONObject
    {
        try await call([(name, arguments)], push: push, schemaVersion: schemaVersion)[0].arguments
    }
}

extension JSON {
    static func create(_ rows: [(RowKey, JSONObject)]) -> JSON {
        ["create": .object(JSONObject(rows.map { ($0.0.id, .object($0.1)) }))]
    }
    static func update(_ key: RowKey, _ values: JSONObject) -> JSON { ["update": [key.id: .object(values)]] }
    static func destroy(_ key: RowKey) -> JSON { ["destroy": [.string(key.id)]] }
}
