// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// A store's file, without a server around it.
final class StoreFile: Sendable {
    static let account = "a1"
    let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "optimist-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    var path: String { directory.appending(path: "optimist.sqlite").path }

    /// Opens the store, and creates the accounts that are missing.
    func open(
        epoch: String, schema: Schema = .planner, day: Int = 20_000, accounts: [String] = [StoreFile.account]
    ) throws -> Opened {
        try Self.open(path, epoch: epoch, schema: schema, day: day, accounts: accounts)
    }

    static func open(
        _ path: String, epoch: String, schema: Schema = .planner, day: Int = 20_000,
        accounts: [String] = [StoreFile.account]
    ) throws -> Opened {
        let database = try ServerDatabase(path: path, epoch: epoch)
        try database.pool.write { db in
            for account in accounts {
                try db.execute(
                    sql: """
                        INSERT INTO optimist_accounts (account_id, email, password, created_at) VALUES (?, ?, '', '')
                        ON CONFLICT DO NOTHING
                        """, arguments: [account, "\(account)@b"])
            }
        }
        // Waiting writes share a transaction, however slow the machine.
        let commits = GroupCommit(writer: database.pool) { .zero }
        let store = SQLiteSyncStore(database, commits: commits)
        let settings = ServingSettings(
            schema: schema, makeRowID: { UUID().uuidString.lowercased() }, workBudget: .unlimited)
        let noon = Date(timeIntervalSince1970: Double(day) * 86_400 + 43_200)
        return Opened(
            database: database, store: store, commits: commits,
            service: JMAPService(store: store, settings: settings, now: { noon }), now: noon)
    }

    /// An open store, and the service on it.
    struct Opened: Sendable {
        let database: ServerDatabase
        let store: SQLiteSyncStore
        let commits: GroupCommit
        let service: JMAPService
        let now: Date

        func call(
            _ name: String, _ arguments: JSON, push: Int64? = nil, device: String = "deviceAA",
            schemaVersion: Int? = nil
        ) async throws -> JSONObject {
            var arguments = arguments.object ?? [:]
            arguments.append("accountId", .string(StoreFile.account))
            let request = Request(
                methodCalls: [Invocation(name, arguments, callID: "0")], device: push == nil ? nil : device, push: push,
                schemaVersion: schemaVersion)
            let outcome = try await service.answer(request.json.bytes, as: .person(StoreFile.account))
            return try #require(Response(json: JSON(parsing: outcome.response))).methodResponses[0].arguments
        }

        /// Writes a to-do as a device does.
        @discardableResult
        func put(
            _ number: Int, _ content: String, at milliseconds: Int64 = 0, by device: String = "deviceAA", push: Int64
        ) async throws -> JSONObject {
            let clock = WriteClock(stamp: Stamp(milliseconds: milliseconds), device: device)
            return try await call(
                "todo/set",
                ["create": [RowKey.id(number): ["content": .string(content), "@hlc": .string(clock.description)]]],
                push: push)
        }

        func pull(_ state: String) async throws -> JSONObject {
            try await call("todo/changes", ["sinceState": .string(state), "inline": true])
        }
    }
}
