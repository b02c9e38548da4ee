// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct InstallationTests {
    private let server = InMemoryServer(schema: .planner)

    /// Copies a phone's file, as a backup does.
    private func copy(_ phone: SyncedPhone) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try phone.store.pool.writeWithoutTransaction { db in
            try db.execute(
                sql: "VACUUM INTO ?", arguments: [folder.appending(path: "planner.sqlite").path])
        }
        return folder
    }

    private func device(_ phone: SyncedPhone) async throws -> String {
        try await phone.store.read { try DeviceIdentity.current(in: $0) }
    }

    private func contents(_ phone: SyncedPhone) async throws -> [String] {
        try await phone.store.todos().map(\.content)
    }

    @Test func `L3 a file copied to a second device takes a new device id, and neither loses nor doubles rows`()
        async throws
    {
        let first = try SyncedPhone(server, installID: UUID())
        first.start()
        try await first.store.write { try Todo(content: "synced").insert($0) }
        try await first.untilClean()
        await first.stop()
        try await first.store.write { db in
            try db.execute(sql: "UPDATE todo SET priority = 5")
            try Todo(content: "pending").insert(db)
        }
        let second = try SyncedPhone(server, folder: try copy(first), installID: UUID())
        #expect(try await second.store.counts().pending == 2)
        second.start()
        try await second.store.write { try $0.execute(sql: "UPDATE todo SET done = 1 WHERE content = 'pending'") }
        try await second.untilClean()
        #expect(try await device(first) != device(second))
        first.start()
        try await first.untilClean()
        try await first.until { try await $0.todos().map(\.done) == [true, false] }
        for phone in [first, second] { try await phone.untilContents(["pending", "synced"]) }
        #expect(server.rows("todo").count == 2)
        #expect(server.rows("todo").values.filter { $0["priority"] == 5 }.count == 1)
        await first.stop()
        await second.stop()
    }

    @Test func `L3 a file of the same installation keeps its device id`() async throws {
        let install = UUID()
        let phone = try SyncedPhone(server, installID: install)
        let before = try await device(phone)
        for _ in 0..<2 {
            phone.start()
            try await phone.store.write { try Todo(content: "Tickets").insert($0) }
            try await phone.untilClean()
            await phone.stop()
        }
        #expect(try await device(phone) == before)
        #expect(try await phone.store.recognise(install: install) == false)
        #expect(try await phone.store.recognise(install: UUID()))
    }

    @Test func `L3 an older state of an installation receives its lost rows, without undoing newer edits`()
        async throws
    {
        let install = UUID()
        let phone = try SyncedPhone(server, installID: install)
        phone.start()
        try await phone.store.write { try Todo(content: "a").insert($0) }
        try await phone.untilClean()
        await phone.stop()
        try await phone.write("UPDATE todo SET content = 'a, as in the backup'")
        let backup = try copy(phone)
        phone.start()
        phone.clock.advance(by: .seconds(10))
        try await phone.write("UPDATE todo SET content = 'a, newer'")
        try await phone.untilClean()
        for number in 0..<3 {
            try await phone.store.write { try Todo(content: "b\(number)").insert($0) }
            try await phone.untilClean()
        }
        let before = try await device(phone)
        await phone.stop()

        let restored = try SyncedPhone(server, folder: backup, installID: install)
        restored.clock.advance(by: .seconds(3600))
        try await restored.store.write { try Todo(content: "c").insert($0) }
        restored.start()
        try await restored.untilContents(["a, newer", "b0", "b1", "b2", "c"])
        try await restored.untilClean()
        #expect(try await device(restored) != before, "the server reported a later push under the old id")
        #expect(server.rows("todo").count == 5)
        await restored.stop()
    }
}
