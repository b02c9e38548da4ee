// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
import OptimistWire

/// A person's device in a separate process, whose lists can be shared.
///
/// Its arguments are `FOLDER SERVER EMAIL`. It takes one command per line of standard input, and answers each with
/// `done VALUE` or `failed ERROR`:
///
/// - `found NAME` creates a space: its id.
/// - `invite SPACE ROLE` makes an invitation: the code of its link.
/// - `accept CODE` joins a space: its id.
/// - `add TITLE` inserts a list of the person's own: its id.
/// - `move LIST SPACE` moves a list to a space, or to the person's own account with `-`.
/// - `rename LIST TITLE`.
/// - `remove SPACE` removes all other members: their number.
/// - `lists`: JSON with the titles of the lists by space, or `own`.
/// - `role SPACE`: the person's role, `-` if unknown or not a member.
/// - `status`: `PENDING REJECTED`.
@main
struct SharingProcess {
    struct List: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "list"
        static let syncRules = SyncRules(space: .own("space"))

        var id = UUID()
        var title: String
        var space: UUID?
    }

    let store: Store

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let server = URL(string: arguments[2]) else {
            return print("SharingProcess FOLDER SERVER EMAIL")
        }
        let folder = URL(filePath: arguments[1], directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try Store(at: folder.appending(path: "lists.sqlite"), synced: [List.self]) { migrator in
            migrator.registerMigration("list") { db in
                try db.create(table: "list") { t in
                    t.primaryKey("id", .blob)
                    t.column("title", .text).notNull()
                    t.column("space", .blob)
                }
            }
        }
        let session = Session(
            server: server, transport: AsyncHTTPClientTransport.shared,
            credentials: FileCredentialStore(at: folder.appending(path: "credentials")))
        let sync = SyncEngine(store: store, session: session)
        Task { await sync.run() }
        _ = try await session.signUp(email: arguments[3], password: "correct horse battery")
        say("done open")
        let process = SharingProcess(store: store)
        while let line = readLine() { await process.obey(line.split(separator: " ").map(String.init)) }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    private func obey(_ words: [String]) async {
        do { Self.say("done \(try await answer(words))") } catch { Self.say("failed \(error)") }
    }

    private func answer(_ words: [String]) async throws -> String {
        let id = words.count > 1 ? UUID(uuidString: words[1]) : nil
        switch (words.first, id) {
        case ("found", _): return try await store.createSpace(named: words[1], as: "Ann").id.uuidString
        case ("invite", let space?):
            let invitation = try await store.invite(to: space, as: SpaceRole(rawValue: words[2]), label: "Home")
            return invitation.link?.code ?? "-"
        case ("accept", _):
            guard let link = InvitationLink(code: words[1]) else { return "-" }
            return try await store.accept(link, as: "Bob").space.id.uuidString
        case ("add", _):
            let list = List(title: words[1])
            try await store.write { try list.insert($0) }
            return list.id.uuidString
        case ("move", let list?):
            let space = UUID(uuidString: words[2])
            try await store.write { db in
                try db.execute(sql: "UPDATE list SET space = ? WHERE id = ?", arguments: [space, list])
            }
            return "moved"
        case ("rename", let list?):
            let title = words[2]
            try await store.write { db in
                try db.execute(sql: "UPDATE list SET title = ? WHERE id = ?", arguments: [title, list])
            }
            return "renamed"
        case ("remove", let space?):
            let others = try await store.read { try SpaceMember.of(space).fetchAll($0).filter { !$0.isMe } }
            for member in others { try await store.remove(member.id) }
            return String(others.count)
        case ("role", let space?):
            let spaces = try await store.read { try Space.fetchAll($0) }
            return spaces.first { $0.id == space && $0.isJoined }?.role?.rawValue ?? "-"
        case ("lists", _):
            let lists = try await store.read { try List.order(Column("title")).fetchAll($0) }
            let titles = Dictionary(grouping: lists) { $0.space?.uuidString ?? "own" }.mapValues { $0.map(\.title) }
            return String(decoding: try JSONEncoder().encode(titles), as: UTF8.self)
        default:
            let counts = try await store.counts()
            return "\(counts.pending) \(counts.rejected)"
        }
    }
}
