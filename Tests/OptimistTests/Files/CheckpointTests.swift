// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistTesting
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct CheckpointTests {
    @Test func `the log is copied in portions during writes, one copy at a time`() {
        var log = WriteAheadLog()
        log.grew(to: 3_999)
        #expect(log.next() == .nothing)
        log.grew(to: 4_000)
        #expect(log.next() == .copyMeanwhile)
        log.grew(to: 8_500)
        #expect(log.next() == .nothing, "the log is being copied")
        log.copied(4_000)
        #expect(log.next() == .copyMeanwhile)
        log.copied(8_500)
        log.grew(to: 12_499)
        #expect(log.next() == .nothing)
    }

    @Test func `after a log is settled or closed, a watch that began earlier copies nothing`() {
        var log = WriteAheadLog()
        log.grew(to: 300)
        var begins = log.beginWatch()
        #expect(begins)
        begins = log.endWatch()
        #expect(begins, "the rest is copied at once")
        log.copied(200)
        let look = log.look()
        #expect(look == .copied, "a reader prevented a complete copy, and the watch is over")
        log.grew(to: 5_000)
        log.isOver = true
        begins = log.beginWatch()
        #expect(!begins)
        begins = log.copyRest()
        #expect(!begins)
        #expect(log.next() == .nothing)
    }

    @Test func `a log that restarts counts as not copied`() {
        var log = WriteAheadLog()
        log.grew(to: 4_500)
        #expect(log.next() == .copyMeanwhile)
        log.copied(4_500)
        log.grew(to: 10)
        log.grew(to: 4_001)
        #expect(log.next() == .copyMeanwhile)
    }

    @Test func `pages that are added during a copy are copied between two commits, so that the log restarts`() {
        var log = WriteAheadLog()
        log.grew(to: 4_000)
        #expect(log.next() == .copyMeanwhile)
        log.grew(to: 4_900)
        log.copied(4_000)
        #expect(log.next() == .copyRest)
        #expect(log.next() == .nothing, "the log is being copied")
        log.copied(4_900)
        log.grew(to: 5_000)
        #expect(log.next() == .nothing, "a reader keeps the log from restarting")
        log.grew(to: 9_000)
        #expect(log.next() == .copyMeanwhile)
        log.grew(to: 10_500)
        log.copied(9_000)
        #expect(log.next() == .nothing, "too many pages were added for a copy between two commits")
        log.grew(to: 7)
        #expect(log.next() == .nothing, "the log restarted by itself")
    }

    @Test func `a log under constant writes is copied between two commits`() {
        var log = WriteAheadLog()
        log.grew(to: 64_000)
        #expect(log.next() == .copyNow)
        log.copied(0)
        #expect(log.next() == .copyNow, "the copy did not succeed")
        log.copied(64_000)
        log.grew(to: 64_500)
        #expect(log.next() == .nothing)
    }

    @Test func `the engine waits until a long log is copied completely`() {
        var log = WriteAheadLog()
        log.grew(to: 15_999)
        #expect(log.next() == .copyMeanwhile)
        #expect(!log.isBehind)
        log.grew(to: 16_000)
        #expect(log.isBehind)
        var copies = log.copyRest()
        #expect(!copies, "the log is being copied")
        log.copied(15_999)
        #expect(!log.isBehind)
        copies = log.copyRest()
        #expect(copies)
        log.copied(16_000)
        copies = log.copyRest()
        #expect(!copies, "nothing is left")
        log.grew(to: 17_000)
        #expect(!log.isBehind, "a reader that never stops does not delay the engine at each commit")
    }

    @Test func `the rest of a log is copied when writes pause, and a short log stays`() {
        var log = WriteAheadLog()
        log.grew(to: 249)
        var begins = log.beginWatch()
        #expect(!begins, "the log is short")
        log.grew(to: 250)
        begins = log.beginWatch()
        #expect(begins)
        begins = log.beginWatch()
        #expect(!begins, "the log is already watched")
        log.grew(to: 260)
        var look = log.look()
        #expect(look == .writing)
        look = log.look()
        #expect(look == .rest)
        log.copied(260)
        begins = log.beginWatch()
        #expect(!begins, "nothing is left")
        log.grew(to: 5)
        begins = log.beginWatch()
        #expect(!begins, "the log restarted")
    }

    @Test func `bursts of small writes do not let the log grow`() async throws {
        let clock = ManualClock()
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "planner.sqlite")
        let store = try Store(
            at: file, synced: [Todo.self], durability: .normal, dependencies: Dependencies(clock: clock),
            migrate: Todo.migrate)
        let log = URL(filePath: file.path + "-wal")
        var afterOne = 0
        for burst in 0..<12 {
            for number in 0..<200 {
                try await store.write { try Todo(content: "\(burst) \(number)").insert($0) }
            }
            while store.checkpoints?.isWatching == true {
                if let next = clock.untilNextSleeper { clock.advance(by: next) }
                await Task.yield()
            }
            await store.checkpoints?.untilIdle()
            if burst == 0 { afterOne = try size(of: log) }
        }
        let (length, whole) = (try size(of: log), try size(of: file))
        #expect(length <= 3 * afterOne / 2, "\(length) bytes beside \(whole), \(afterOne) after one burst")
        try await store.close()
    }

    @Test func `an open store copies its writes into the database without loss`()
        async throws
    {
        let phone = try Phone()
        let text = String(repeating: "text ", count: 2_000)
        for _ in 0..<30 {
            try await phone.store.write { db in for _ in 0..<100 { try Todo(content: text).insert(db) } }
        }
        while try size(of: phone.file) < 4_000_000 { await Task.yield() }
        try phone.reopen()
        #expect(try await phone.store.todos().count == 3_000)
    }

    private func size(of file: URL) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
    }
}
