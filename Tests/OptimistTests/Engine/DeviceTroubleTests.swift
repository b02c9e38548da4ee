// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct DeviceTroubleTests {
    private let server = InMemoryServer(schema: .planner)

    private func setPages(_ count: Int, of store: Store) throws {
        try store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
    }

    private func pageCount(_ store: Store) throws -> Int {
        try store.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 }
    }

    @Test func `S6 V4 Q3 a full disk is reported, loses nothing, and sync resumes once there is space`() async throws {
        let (writer, phone) = (try SyncedPhone(server), try SyncedPhone(server))
        writer.start()
        let engine = phone.start()
        try await phone.until { try await $0.counts().lastSync != nil }
        try setPages(pageCount(phone.store), of: phone.store)
        try await writer.store.write { db in
            for _ in 0..<200 { try Todo(content: String(repeating: "a", count: 400)).insert(db) }
        }
        let full = SyncStatus.Phase.deviceTrouble(
            message: "This device's disk is full. Free some space, and sync resumes automatically.")
        try await engine.statuses.reach { $0.phase == full }
        await phone.clock.sleepers(atLeast: 2)
        #expect(try await phone.store.todos().isEmpty)

        try setPages(1_000_000, of: phone.store)
        phone.clock.advance(by: .seconds(60))
        try await phone.until { try await $0.todos().count == 200 }
        try await engine.statuses.reach { $0.phase == .idle }
        await writer.stop()
        await phone.stop()
    }

    @Test(arguments: [ResultCode.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_CANTOPEN, .SQLITE_READONLY])
    func `Q3 disk errors are reported as trouble of the device`(code: ResultCode) {
        guard case .device = SyncMachine.Failure(DatabaseError(resultCode: code)) else {
            Issue.record("\(code) is not reported as trouble of the device")
            return
        }
    }

    @Test func `Q3 every observer of the status receives the final state`() async throws {
        let phone = try SyncedPhone(server)
        let engine = phone.start()
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    try await engine.statuses.reach { status in
                        guard status.counts.pending == 0, status.counts.lastSync != nil else { return false }
                        return try await phone.store.read { try Todo.fetchCount($0) } == 50
                    }
                }
            }
            for number in 0..<50 { try await phone.store.write { try Todo(content: "\(number)").insert($0) } }
            try await group.waitForAll()
        }
        await phone.stop()
    }

    @Test func `Q3 counts of a long outbox are spaced by pauses`() {
        #expect(StatusCounting.pause(after: 9_999) == nil)
        #expect(StatusCounting.pause(after: 1_000_000) == .milliseconds(200))
    }
}
