// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistSession
import Testing

@testable import Optimist

/// Mistakes of newcomers and the errors they cause: the last table of Documentation/GettingStarted.md.
@Suite(.timeLimit(.minutes(20)))
struct NewcomerTests {
    private struct Todo: Codable, Identifiable, SyncedRecord {
        var id = UUID()
        var content = ""
    }

    private struct Counted: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "todo"
        static let syncRules = SyncRules(counters: ["content"])
        var id = UUID()
        var content = ""
    }

    private struct Step: Codable, Identifiable, SyncedRecord {
        var id = UUID()
        var todo: UUID?
    }

    private let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
    private var file: URL { folder.appending(path: "planner.sqlite") }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private static let table = "CREATE TABLE todo (id BLOB PRIMARY KEY NOT NULL, content TEXT NOT NULL DEFAULT '')"

    private func open(_ synced: [any SyncedRecord.Type] = [Todo.self], _ sql: String = table) throws -> Store {
        try Store(at: file, synced: synced) { migrator in
            migrator.registerMigration("first") { try $0.execute(sql: sql) }
        }
    }

    private func opening(_ synced: [any SyncedRecord.Type], _ sql: String) throws -> String {
        _ = try open(synced, sql)
        return "nothing"
    }

    private func requesting(_ server: String) async throws -> String {
        let session = Session(
            server: try #require(URL(string: server)), transport: NoTransport(), credentials: .inMemory)
        _ = try await session.send(SessionRequest("/x"))
        return "nothing"
    }

    private func problems(_ synced: [any SyncedRecord.Type], _ sql: String) throws -> String {
        let queue = try DatabaseQueue()
        try queue.write { try $0.execute(sql: sql) }
        return try Store.validate(synced, in: queue).map(\.description).joined(separator: " ")
    }

    /// Each mistake, and code that makes it. The code throws, or returns the text that the user sees.
    private var mistakes: [(String, () async throws -> String)] {
        [
            (
                "a write through your own connection",
                {
                    _ = try open()
                    try DatabaseQueue(path: file.path).write { try Todo().insert($0) }
                    return "nothing"
                }
            ),
            (
                "a table whose key is a number",
                { try opening([Todo.self], "CREATE TABLE todo (id INTEGER PRIMARY KEY)") }
            ),
            ("a table that no migration makes", { try opening([Todo.self], "CREATE TABLE other (id)") }),
            (
                "a required column without a default in a later version",
                {
                    func migrate(_ migrator: inout DatabaseMigrator) {
                        for (name, columns) in [("first", ""), ("later", ", content TEXT NOT NULL")] {
                            let table = "CREATE TABLE todo (id BLOB PRIMARY KEY NOT NULL\(columns))"
                            migrator.registerMigration(name) {
                                try $0.execute(sql: "DROP TABLE IF EXISTS todo; \(table)")
                            }
                        }
                    }
                    let store = try Store(at: file, synced: [Todo.self], migrate: migrate)
                    return try Store.validate([Todo.self], in: store.reader, migrate: migrate).map(\.description)
                        .joined()
                }
            ),
            (
                "a foreign key to a table that is not synced",
                {
                    let step = "CREATE TABLE step (id BLOB PRIMARY KEY NOT NULL, todo BLOB REFERENCES todo)"
                    return try problems([Step.self], "\(Self.table); \(step)")
                }
            ),
            ("a counter declared as text", { try problems([Counted.self], Self.table) }),
            (
                "a unique index over an expression",
                { try opening([Todo.self], "\(Self.table); CREATE UNIQUE INDEX one ON todo(lower(content))") }
            ),
            ("plain http to another machine", { try await requesting("http://sync.example.org") }),
            ("a request before a user has signed in", { try await requesting("https://sync.example.org") }),
            (
                "a file that is not a database",
                {
                    try Data(repeating: 0x41, count: 8192).write(to: file)
                    return try opening([Todo.self], Self.table)
                }
            ),
        ]
    }

    @Test func `ten mistakes of newcomers cause the errors that the first page lists`() async throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../../Documentation/GettingStarted.md"), encoding: .utf8)
        for (mistake, make) in mistakes {
            try? FileManager.default.removeItem(at: file)
            let told: String
            do { told = try await make() } catch { told = "\(error)" }
            #expect(page.contains("| \(mistake) | \(told) |"), "\(mistake): \(told)")
        }
        #expect(mistakes.count == 10)
    }
}

private struct NoTransport: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(.unsupported, .notSent)
    }
}
