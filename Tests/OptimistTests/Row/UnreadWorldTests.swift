// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import Optimist

/// Three devices edit, delete and replace the same rows; in the table `note`, edits win. Answers get lost, and pages
/// arrive between a push and its answer. The seed decides the order.
private struct UnreadWorld {
    struct Item: Codable, SyncedRecord {
        static let databaseTableName = "item"
        var id = UUID()
    }

    struct Note: Codable, SyncedRecord {
        static let databaseTableName = "note"
        static let syncRules = SyncRules(editWins: true)
        var id = UUID()
    }

    let server = AppServer()
    let devices: [Device]
    let ids = (1...2).map { UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)") ?? UUID() }
    var random: SplitMix64
    /// The written texts, each once, with their devices.
    var written: [(device: Int, text: String)] = []
    /// The texts that a device showed when its user replaced or deleted them.
    var shown: Set<String> = []

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        devices = try (0..<3).map { number in
            try Device([Item.self, Note.self], at: 1_790_000_000_000 + 1_000 * Int64(number)) { migrator in
                migrator.registerMigration("first") { db in
                    try db.execute(
                        sql: """
                            CREATE TABLE item(id BLOB PRIMARY KEY NOT NULL, title TEXT, note TEXT);
                            CREATE TABLE note(id BLOB PRIMARY KEY NOT NULL, title TEXT, body TEXT);
                            """)
                }
            }
        }
    }

    mutating func step() async throws {
        let number = Int.random(in: 0..<devices.count, using: &random)
        let device = devices[number]
        for _ in 0..<Int.random(in: 0...2, using: &random) { try await write(on: number) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try await device.sync(with: server)
        case 1: try await device.apply(try await device.pull(from: server))
        default:
            guard let batch = try await device.next() else { return }
            let verdicts = try await server.push(batch.push)
            if Bool.random(using: &random) { try await write(on: number) }
            if Bool.random(using: &random) { try await device.apply(try await device.pull(from: server)) }
            if Bool.random(using: &random) { try await write(on: number) }
            if Int.random(in: 0..<4, using: &random) > 0 { try await device.store.apply(verdicts, of: batch) }
        }
    }

    private mutating func write(on number: Int) async throws {
        let (device, id) = (devices[number], ids[Int.random(in: 0..<ids.count, using: &random)])
        let table = Bool.random(using: &random) ? "item" : "note"
        let column = table == "item" ? ["title", "note"] : ["title", "body"]
        let text = "text \(written.count)"
        device.advance(Int64.random(in: 1...3_000, using: &random))
        let before = try await device.rows(table)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try await device.execute("DELETE FROM \(table) WHERE id = ?", [id])
        case 1:
            try await device.execute("INSERT OR REPLACE INTO \(table)(id, title) VALUES (?, ?)", [id, text])
            if let row = before[id.uuidString.lowercased()] { show(row.map(\.value)) }
        case 2: try await device.execute("INSERT OR IGNORE INTO \(table)(id, title) VALUES (?, ?)", [id, text])
        default:
            let name = column[Int.random(in: 0..<2, using: &random)]
            try await device.execute("UPDATE \(table) SET \(name) = ? WHERE id = ?", [text, id])
        }
        let after = try await device.rows(table)
        for (row, values) in before { show(values.filter { after[row]?[$0.key] != $0.value }.map(\.value)) }
        if after.values.contains(where: { $0.contains { $0.value == .string(text) } }) {
            written.append((number, text))
        }
    }

    private mutating func show(_ values: [JSON]) { shown.formUnion(values.compactMap(\.string)) }

    /// The lost texts that no device had shown when it replaced them and that no journal keeps.
    mutating func vanished() async throws -> [String] {
        for _ in 0..<3 { for device in devices { try await device.sync(with: server) } }
        var journals: [Set<String>] = []
        for device in devices {
            let texts = try await device.store.read {
                try String.fetchAll($0, sql: "SELECT mine || coalesce(whole, '') FROM optimist_journal")
            }
            journals.append(Set(written.map(\.text).filter { text in texts.contains { $0.contains("\"\(text)\"") } }))
        }
        let final = ["item", "note"].flatMap { server.rows($0).values.flatMap { $0.compactMap(\.value.string) } }
        return written.filter { entry in
            !final.contains(entry.text) && !shown.contains(entry.text) && !journals[entry.device].contains(entry.text)
        }.map { "\($0.text) of device \($0.device)" }
    }
}

@Suite(.timeLimit(.minutes(60)))
struct UnreadWorldTests {
    @Test(arguments: 1...TestForm.of(short: 40, full: 200, soak: 5_000))
    func `M7 no user's words vanish unseen, in any order of pushes and pulls`(seed: Int) async throws {
        var world = try UnreadWorld(seed: UInt64(seed))
        for _ in 0..<30 { try await world.step() }
        #expect(try await world.vanished() == [])
    }
}
