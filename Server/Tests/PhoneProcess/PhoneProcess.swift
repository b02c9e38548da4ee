// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession

/// A phone in a separate process, for tests that kill it and break its disk.
///
/// Its arguments are `FOLDER SERVER EMAIL full|normal`. It takes one command per line of standard input, and answers on
/// standard output when the command is done:
///
/// - `write LABEL NUMBER` writes the number to both to-dos of a pair in one transaction, creating them if needed: `done
///   LABEL NUMBER` when the write is durable, or `failed LABEL ERROR`.
/// - `fill COUNT` inserts COUNT to-dos, a thousand per transaction: `done fill COUNT`.
/// - `rows`: `rows JSON`, the rows that the phone shows.
/// - `progress`: `progress ROWS`, the number of rows that the first sync has received; `progress -1` when the first
///   sync is complete.
/// - `status`: `status PENDING REJECTED PHASE`.
///
/// It prints `open` when its file is open, and ends when its standard input does.
@main
struct PhoneProcess {
    struct Todo: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "todo"

        var id = UUID()
        var content: String
        var date = ""
        var priority: Int
        var done = false
        var alarm: Date?

        static func migrate(_ migrator: inout DatabaseMigrator) {
            migrator.registerMigration("todo") { db in
                try db.create(table: databaseTableName) { t in
                    t.primaryKey("id", .blob)
                    t.column("content", .text).notNull().defaults(to: "").indexed()
                    t.column("date", .text).notNull().defaults(to: "")
                    t.column("priority", .integer).notNull().defaults(to: 0)
                    t.column("done", .boolean).notNull().defaults(to: false)
                    t.column("alarm", .datetime)
                }
            }
        }
    }

    let store: Store
    let sync: SyncEngine

    /// If its file does not open, the process prints the error and ends, like an app that cannot open its data.
    static func main() async {
        do { try await run() } catch {
            print("PhoneProcess: \(error)")
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let server = URL(string: arguments[2]) else {
            return print("PhoneProcess FOLDER SERVER EMAIL full|normal")
        }
        let folder = URL(filePath: arguments[1], directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try Store(
            at: folder.appending(path: "planner.sqlite"), synced: [Todo.self],
            durability: arguments[4] == "normal" ? .normal : .full, migrate: Todo.migrate)
        let session = Session(
            server: server, transport: AsyncHTTPClientTransport.shared,
            credentials: FileCredentialStore(at: folder.appending(path: "credentials")))
        let sync = SyncEngine(store: store, session: session)
        Task { await sync.run() }
        Task { await signIn(session, arguments[3]) }
        say("open")
        let phone = PhoneProcess(store: store, sync: sync)
        while let line = readLine() { await phone.obey(line.split(separator: " ").map(String.init)) }
    }

    /// Signs in at the first launch, or at the next launch that finds a server.
    private static func signIn(_ session: Session, _ email: String) async {
        let password = "correct horse battery"
        for await state in session.states {
            guard case .signedOut = state else { continue }
            while session.account == nil {
                do { try await session.signIn(email: email, password: password) } catch {
                    _ = try? await session.signUp(email: email, password: password)
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    /// Prints a complete line, even if another thread prints at the same time.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    // MARK: - Commands

    private func obey(_ words: [String]) async {
        do {
            switch words.first {
            case "write": try await write(Int(words[2]) ?? 0, to: words[1])
            case "fill": try await fill(Int(words[1]) ?? 0)
            case "rows": try await showRows()
            case "progress": try await showProgress()
            default: try await showStatus()
            }
        } catch {
            Self.say("failed \(words.dropFirst().first ?? "") \(error)")
        }
    }

    private func write(_ number: Int, to label: String) async throws {
        try await store.write { db in
            let mine = Todo.filter(Column("content") == label)
            guard try mine.updateAll(db, Column("priority").set(to: number)) == 0 else { return }
            for _ in 0..<2 { try Todo(content: label, priority: number).insert(db) }
        }
        Self.say("done \(label) \(number)")
    }

    private func fill(_ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 1_000) {
            try await store.write { db in
                for number in start..<min(count, start + 1_000) {
                    try Todo(content: "Item \(number)", priority: number).insert(db)
                }
            }
        }
        Self.say("done fill \(count)")
    }

    private func showProgress() async throws {
        let status = try await sync.statuses.current()
        let isThrough = status.progress == nil && status.counts.lastSync != nil
        Self.say("progress \(isThrough ? -1 : status.progress?.rows ?? 0)")
    }

    private func showStatus() async throws {
        let status = try await sync.statuses.current()
        Self.say("status \(status.counts.pending) \(status.counts.rejected) \(status.phase)")
    }

    private func showRows() async throws {
        let rows = try await store.read { db in
            try Row.fetchAll(db, sql: "SELECT lower(hex(id)) AS id, content, priority FROM todo ORDER BY id")
                .map { "[\"\($0["id"] as String)\",\"\($0["content"] as String)\",\($0["priority"] as Int)]" }
        }
        Self.say("rows [\(rows.joined(separator: ","))]")
    }
}
