// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServing
import OptimistWire
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// An operator exports an account, and deletes it.
@Suite(.timeLimit(.minutes(20)))
struct AccountExportTests {
    private let site = Site()

    private func export(_ email: String) async throws -> [JSON] {
        let lines = Mutex<[JSON]>([])
        let keep: @Sendable (JSON) -> Void = { line in lines.withLock { $0.append(line) } }
        if let database = site.database {
            try await PostgresOpening(database: database, logger: SharedDatabase.quiet).export(
                .account(email: email), keep)
        } else {
            try AccountExport.read(.account(email: email), in: site.directory, keep)
        }
        return lines.withLock(\.self)
    }

    /// Writes enough rows to fill database pages, then changes some and deletes some.
    private func write(_ words: String, by person: Person, on server: OptimistServer, from first: Int = 1) async throws
    {
        func patches(_ numbers: ClosedRange<Int>, _ content: String) -> JSON {
            .object(JSONObject(numbers.map { (RowKey.id($0), ["content": .string("\(content) \($0)")]) }))
        }
        let long = Array(repeating: words, count: 20).joined(separator: ", ")
        let last = first + 99
        _ = try await server.call(person, "todo/set", ["create": patches(first...last, long)], push: 1)
        _ = try await server.call(person, "todo/set", ["update": patches(first...first + 49, words)], push: 2)
        let gone = (first + 40...first + 59).map { JSON.string(RowKey.id($0)) }
        _ = try await server.call(person, "todo/set", ["destroy": .array(gone)], push: 3)
    }

    @Test func `O8: an export made while the server runs has every session and row of the account, and no secrets`()
        async throws
    {
        try await site.serving { server, http async throws in
            let (person, other) = (try await http.signUp(), try await http.signUp("b@example.org"))
            try await write("a violet", by: person, on: server)
            try await write("a rose", by: other, on: server)
            try await server.link("ann", to: person)
            let lines = try await export("A@example.org")
            #expect(lines.first?["account"]?["id"] == .string(person.account))
            #expect(lines.first?["account"]?["email"] == "a@example.org")
            #expect(lines.last?["end"] == ["identities": 1, "sessions": 1, "memberships": 0, "events": 0, "rows": 100])
            #expect(lines.compactMap { $0["identity"] }.map { $0["subject"] } == ["ann"])
            #expect(lines.compactMap { $0["session"] }.map { $0["device"] } == ["Phone"])
            let rows = lines.compactMap { $0["row"] }
            #expect(rows.map { $0["id"]?.string } == (1...100).map(RowKey.id))
            #expect(rows.filter { $0["isDeleted"] == true }.count == 20)
            #expect(rows.first?["content"]?["content"] == "a violet 1")
            #expect(rows.first?["content"]?["@hlc"] != nil, "each column has its clock")
            let text = lines.map(\.description).joined()
            let password = try #require(await server.registry.store.account(id: person.account)?.password)
            for secret in [password, person.refresh, person.access, "a rose", other.account] {
                #expect(!text.contains(secret))
            }
            let nobody = await #expect(throws: OptimistError.self) { _ = try await export("nobody@example.org") }
            #expect(nobody?.code == .notFound)
        }
    }

    @Test func `O9: the server keeps a deletion's receipt for as long as a device may still ask`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            try await write("a violet", by: person, on: server)
            var answer: JSON = .null
            try await http.events(token: person.access) { event, data async throws in
                if event == "state" { answer = try await server.carryOut(.delete(email: "a@example.org")) }
                if event == "session" { #expect(data["reason"] == "account_deleted", "the device hears at once") }
                return event == "session"
            }
            let receipt = try #require(answer["receipt"])
            #expect(receipt["account"] == .string(person.account) && receipt["deletedAt"] == "2027-01-15T08:00:00.000Z")
            #expect(receipt["rows"] == 100 && receipt["sessions"] == 1 && receipt["isErased"] == true)
            #expect(receipt["keptUntil"] == "2027-05-15T08:00:00.000Z")
            #expect(try await server.carryOut(.receipts) == ["receipts": [receipt]])
            await #expect(throws: OptimistError.self) { _ = try await server.carryOut(.delete(email: "a@example.org")) }
            site.advance(by: 120 * 86_400 + 1)
            try await server.registry.eraseDeleted()
            #expect(try await server.carryOut(.receipts) == ["receipts": []])
        }
    }

    @Test(.embedded) func `O9: after a vacuum, only the receipt of a deleted account is left in the directory`()
        async throws
    {
        let words = ["gone@example.org", "a violet", "00000000-0000-4000-8000-"]
        let (person, session, hash) = try await site.serving { server, http async throws in
            let (person, other) = (try await http.signUp("gone@example.org"), try await http.signUp("b@example.org"))
            try await write("a violet", by: person, on: server)
            // Rows of two accounts in many sizes move between database pages and leave copies behind.
            for round in 0..<4 {
                for (owner, prefix, words) in [(person, "00000000", "a violet "), (other, "ffffffff", "a rose ")] {
                    let rows = (0..<60).map { number -> (String, JSON) in
                        let id = "\(prefix)-0000-4000-8000-\(900_000_000_000 + (number * 7_919 + round * 131) % 9_973)"
                        return (
                            id, ["content": .string(String(repeating: words, count: (number * 7 + round) % 40 + 1))]
                        )
                    }
                    _ = try await server.call(
                        owner, "todo/set", ["create": .object(JSONObject(rows))], push: Int64(10 + round))
                }
            }
            let session = try #require(await server.carryOut(.sessions(email: "gone@example.org"))["sessions"]?.array)
            let hash = try #require(await server.registry.store.account(id: person.account)?.password)
            for word in words + [person.account, hash] { #expect(try found(word) > 0, "\(word)") }
            #expect(try await export("gone@example.org").count > 300)
            _ = try await server.carryOut(.delete(email: "gone@example.org"))
            let running = #expect(throws: OptimistError.self) { _ = try DataVacuum.run(at: site.directory) }
            #expect(running?.code == .dataInUse)
            // Even before the vacuum, a backup has no trace of the account.
            let backup = site.directory.deletingLastPathComponent().appending(path: "backup-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: backup) }
            _ = try DataBackup.backUp(site.directory, to: backup)
            for word in words { #expect(try found(word, in: backup) == 0, "\(word)") }
            #expect(try found("a rose", in: backup) > 1)
            return (person, try #require(session.first?["id"]?.string), hash)
        }
        let size = try DataVacuum.run(at: site.directory)
        #expect(size.after < size.before)
        for word in words + [session, hash, person.refresh] { #expect(try found(word) == 0, "\(word)") }
        #expect(try found(person.account) == 1, "the receipt")
        #expect(try found("a rose") > 1 && DataCheck.problems(of: site.directory).isEmpty)
    }

    /// How often the text occurs in a directory's files, including the write-ahead log.
    private func found(_ text: String, in directory: URL? = nil) throws -> Int {
        let files = FileManager.default
        let directory = directory ?? site.directory
        return try files.contentsOfDirectory(atPath: directory.path).reduce(0) { count, name in
            guard let data = files.contents(atPath: directory.appending(path: name).path) else { return count }
            var (count, rest) = (count, data[...])
            while let range = rest.firstRange(of: Data(text.utf8)) {
                count += 1
                rest = rest[range.upperBound...]
            }
            return count
        }
    }
}
