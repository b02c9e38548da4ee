// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
final class ConnectionTests {
    private let folder: URL
    private var file: URL { folder.appending(path: "planner.sqlite") }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func open(
        _ configuration: Configuration? = nil, _ protection: Store.FileProtection = .system
    ) throws -> Store {
        try Store(
            at: file, synced: [Todo.self], durability: .normal, configuration: configuration, protection: protection,
            migrate: Todo.migrate)
    }

    @Test func `W8: the app configures each connection before the store does`() async throws {
        let seen = Mutex<[Bool]>([])
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            let ours = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM pragma_function_list WHERE name LIKE 'optimist%'")
            let triggers = try Int.fetchOne(db, sql: "PRAGMA recursive_triggers")
            seen.withLock { $0.append(ours == 0 && triggers == 0) }
            db.add(function: DatabaseFunction("key", argumentCount: 0) { _ in "secret" })
        }
        for launch in 1...2 {
            let store = try open(configuration)
            try await store.write { try Todo(content: "Tickets").insert($0) }
            #expect(try await store.todos().count == launch)
            #expect(try await store.read { try String.fetchOne($0, sql: "SELECT key()") } == "secret")
            try await store.close()
        }
        // Each launch opens a writer and a reader, and another connection checks the file before it is opened for
        // writing.
        #expect(seen.withLock { $0.count >= 5 && $0.allSatisfy(\.self) })
    }

    @Test func `W2 a temporary table that shadows a synced table hides no write`() async throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            if db.configuration.readonly { return }
            try db.execute(sql: "CREATE TEMP TABLE todo(content UNIQUE)")
        }
        for launch in 1...2 {
            let store = try open(configuration)
            try await store.write { db in
                try db.execute(
                    sql: "INSERT INTO main.todo(id, content) VALUES (?, 'Tickets')", arguments: [UUID()])
            }
            #expect(try await store.todos().count == launch)
            #expect(try await store.pendingCount() == launch)
            try await store.close()
        }
    }

    @Test func `W8: a wrong key leaves the file unchanged`() async throws {
        try await open().close()
        let before = try Data(contentsOf: file)
        var configuration = Configuration()
        configuration.prepareDatabase { _ in throw DatabaseError(resultCode: .SQLITE_NOTADB) }
        #expect {
            try self.open(configuration)
        } throws: {
            ($0 as? OptimistError)?.code == .notADatabase
        }
        #expect(try Data(contentsOf: file) == before)
    }

    @Test func `W8: an app that refuses a connection without encryption writes nothing to disk`() throws {
        struct CannotEncrypt: Error {}
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            guard try String.fetchOne(db, sql: "PRAGMA cipher_version") != nil else { throw CannotEncrypt() }
        }
        #expect(throws: CannotEncrypt.self) { try self.open(configuration) }
        let written = try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
            try Data(contentsOf: folder.appending(path: $0)).count
        }
        #expect(written.reduce(0, +) == 0)
    }

    @Test func `W8: claiming a file for an account uses the app's configuration`() async throws {
        let files = AccountFiles(at: folder)
        let server = try #require(URL(string: "https://planner.example"))
        let opened = Mutex(0)
        var configuration = Configuration()
        configuration.prepareDatabase { _ in opened.withLock { $0 += 1 } }
        let store = try Store(
            at: files.unclaimed, synced: [Todo.self], durability: .normal, configuration: configuration,
            migrate: Todo.migrate)
        try await store.write { try Todo(content: "Tickets").insert($0) }
        try await store.close()
        let before = opened.withLock(\.self)
        #expect(try files.claim(for: "1", on: server, configuration: configuration))
        #expect(opened.withLock(\.self) == before + 1)
    }

    @Test func `a protected file can be opened and written like other files, and a missing folder is reported`()
        async throws
    {
        let store = try open(nil, .afterFirstUnlock)
        try await store.write { try Todo(content: "Tickets").insert($0) }
        try await store.close()
        #expect(try await open(nil, .unlessOpen).todos().count == 1)
        #expect {
            try Store(
                at: self.folder.appending(path: "missing/a.sqlite"), synced: [Todo.self], protection: .afterFirstUnlock,
                migrate: Todo.migrate)
        } throws: {
            ($0 as? OptimistError)?.code == .noFolder
        }
    }

    @Test func `W9: closing finishes the writes and releases the file, and later calls are errors`() async throws {
        let store = try open()
        let writes = (1...20).map { number in
            Task { try await store.write { try Todo(content: "\(number)").insert($0) } }
        }
        for write in writes { try await write.value }
        try await store.close()
        try await store.close()
        #if os(Linux)
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            let links = descriptors.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }
            #expect(!links.contains { $0.hasPrefix(file.path) })
        #endif
        let isClosed: @Sendable (any Error) -> Bool = { ($0 as? OptimistError)?.code == .storeClosed }
        await #expect { try await store.write { try $0.execute(sql: "DELETE FROM todo") } } throws: { isClosed($0) }
        await #expect { try await store.todos() } throws: { isClosed($0) }
        #expect(try await open().todos().count == 20)
    }
}
