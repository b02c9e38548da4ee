// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct WrongClockTests {
    private static let now: Int64 = 1_790_000_000_000
    private static let day: Int64 = 86_400_000
    /// A day and a year either way, 1970 and 2099.
    static let wrong: [Int64] = [now + day, now - day, now + 365 * day, now - 365 * day, 0, 4_080_000_000_000]

    private let backend = FakeBackend()
    private let right: Reader

    init() throws {
        right = try Reader(backend, at: Self.now)
        let clock = right.clock
        backend.settings.withLock {
            $0.pageRows = 100
            $0.milliseconds = { Self.now + clock.elapsed.milliseconds }
        }
    }

    /// Advances the server's time, which follows the clock of the correct device.
    private func later() { right.clock.advance(by: .seconds(300)) }

    private func title() -> JSON? { backend.rows("book")[id(1).uuidString.lowercased()]?["title"] }

    @Test(arguments: wrong)
    func `M4 the last edit wins, however wrong a clock was before the first contact`(milliseconds: Int64) async throws {
        let other = try Reader(backend, at: milliseconds)
        try await other.write("INSERT INTO book VALUES (?, 'One', 1, NULL)", [id(1)])
        try await other.write("UPDATE book SET title = 'Two' WHERE id = ?", [id(1)])
        try await other.sync()
        #expect(title() == "Two")
        try await right.sync()
        later()
        try await right.write("UPDATE book SET title = 'Three' WHERE id = ?", [id(1)])
        try await right.sync()
        #expect(title() == "Three", "the wrong clock does not win for ever")
        try await other.sync()
        later()
        other.clock.advance(by: .seconds(300))
        try await other.write("UPDATE book SET title = 'Four' WHERE id = ?", [id(1)])
        try await other.sync()
        let stamp = other.store.capture.lastStamp.milliseconds
        #expect(abs(stamp - Self.now - right.clock.elapsed.milliseconds) < 600_000)
        try await right.sync()
        #expect(title() == "Four", "nor does it lose for ever")
        for reader in [other, right] { #expect(try await reader.isEqualToBackend()) }
    }

    @Test(arguments: wrong)
    func `M4 a clock set wrong after the first contact neither wins nor loses permanently`(milliseconds: Int64)
        async throws
    {
        let other = try Reader(backend, at: Self.now)
        try await other.write("INSERT INTO book VALUES (?, 'One', 1, NULL)", [id(1)])
        try await other.sync()
        try await right.sync()
        other.wallClock.withLock { $0 = milliseconds }
        try await other.write("UPDATE book SET title = 'Two' WHERE id = ?", [id(1)])
        try await other.write("UPDATE book SET title = 'Three' WHERE id = ?", [id(1)])
        try await other.sync()
        #expect(title() == "Three")
        try await right.sync()
        later()
        try await right.write("UPDATE book SET title = 'Four' WHERE id = ?", [id(1)])
        try await right.sync()
        #expect(title() == "Four")
        try await other.sync()
        try other.reopen()
        later()
        other.clock.advance(by: .seconds(300))
        try await other.write("UPDATE book SET title = 'Five' WHERE id = ?", [id(1)])
        try await other.sync()
        try await right.sync()
        #expect(title() == "Five", "also after a relaunch")
        for reader in [other, right] { #expect(try await reader.isEqualToBackend()) }
    }

    @Test func `M4 stamps far in the future are replaced, keeping their order and their groups`() async throws {
        let other = try Reader(backend, at: 4_080_000_000_000)
        try await other.store.write { db in
            try Book(id: id(1), title: "One").insert(db)
            try Book(id: id(2), title: "Two").insert(db)
        }
        other.wallClock.withLock { $0 += 1000 }
        try await other.write("UPDATE book SET title = 'Later' WHERE id = ?", [id(1)])
        try await other.write("INSERT INTO book VALUES (?, 'Three', 1, NULL)", [id(3)])
        let before = try await stamps(other)
        try await other.store.correctClock(by: Date(timeIntervalSince1970: Double(Self.now) / 1000), roundTrip: .zero)
        let after = try await stamps(other)
        #expect(zip(before, before.dropFirst()).map { $0 < $1 } == zip(after, after.dropFirst()).map { $0 < $1 })
        #expect(zip(before, before.dropFirst()).map { $0 == $1 } == zip(after, after.dropFirst()).map { $0 == $1 })
        #expect(after.allSatisfy { $0.milliseconds == Self.now })
        try other.reopen()
        try await other.write("INSERT INTO book VALUES (?, 'Four', 1, NULL)", [id(4)])
        #expect(try await (stamps(other).last?.milliseconds ?? 0) < Self.now + 60_000)
    }

    /// The stamps of each row: its group, its life and its title.
    private func stamps(_ reader: Reader) async throws -> [Stamp] {
        let number = try #require(reader.store.layout(named: "book")).number
        return try await reader.store.read { db in
            let entries = try RowEntryTable(db)
            return try (1...4).flatMap { index -> [Stamp] in
                guard let entry = try entries.entry(RowRef(table: number, id: id(index).databaseValue)) else {
                    return []
                }
                return [entry.local?.group ?? .zero, entry.lifeStamp, entry.unsentClock(of: "title").stamp]
            }
        }
    }

    @Test func `M4 the clock offset holds while answers agree with it, and survives a relaunch`() async throws {
        let reader = try Reader(backend, at: Self.now - Self.day)
        let date = Date(timeIntervalSince1970: Double(Self.now) / 1000)
        try await reader.store.correctClock(by: date, roundTrip: .milliseconds(200))
        #expect(reader.store.correctedMilliseconds == Self.now + 100, "half the round trip has passed")
        try await reader.store.correctClock(by: date, roundTrip: .milliseconds(400))
        #expect(reader.store.correctedMilliseconds == Self.now + 100)
        try await reader.store.correctClock(by: date, roundTrip: .zero)
        #expect(reader.store.correctedMilliseconds == Self.now)
        try reader.reopen()
        #expect(reader.store.correctedMilliseconds == Self.now)
    }

    @Test func `M4 a deferred row waits by the server's time, even if the clock is set back`()
        async throws
    {
        let phone = try Phone(at: Self.now)
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        try await phone.store.apply([.retry(after: .seconds(60))], of: batch)
        phone.advance(59_000 - Self.day)
        let date = Date(timeIntervalSince1970: Double(Self.now / 1000 + 59))
        try await phone.store.correctClock(by: date, roundTrip: .zero)
        #expect(try await phone.store.pushOutlook().nextDue == .seconds(1))
        phone.advance(1000)
        #expect(try await phone.store.nextPush(PushLimit()) != nil)
    }

    @Test func `M4 a row deferred by a clock a day ahead is sent soon after the correction`() async throws {
        let phone = try Phone(at: Self.now + Self.day)
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        try await phone.store.apply([.retry(after: .seconds(60))], of: batch)
        let date = Date(timeIntervalSince1970: Double(Self.now) / 1000)
        try await phone.store.correctClock(by: date, roundTrip: .zero)
        #expect(try await phone.store.pushOutlook().nextDue == .seconds(900))
    }

    @Test func `M4 an answer received across a clock change or a sleep does not correct the clock`() async throws {
        let clock = ManualClock()
        let time = Mutex(Date(timeIntervalSince1970: Double(Self.now) / 1000))
        let roundTrip = RoundTrip(Dependencies(clock: clock, now: { time.withLock { $0 } }))
        clock.advance(by: .seconds(2))
        time.withLock { $0 += 2.5 }
        #expect(roundTrip() == .seconds(2))
        time.withLock { $0 += 86_400 }
        #expect(roundTrip() == nil)
        time.withLock { $0 -= 2 * 86_400 }
        #expect(roundTrip() == nil)
        let phone = try Phone(at: Self.now)
        try await phone.store.correctClock(by: Date(timeIntervalSince1970: 0), roundTrip: nil)
        #expect(phone.store.correctedMilliseconds == Self.now)
    }

    @Test func `M4 with confirmed stamps far ahead, the clock restarts once and not at every answer`()
        async throws
    {
        let phone = try Phone(at: Self.now)
        let date = Date(timeIntervalSince1970: Double(Self.now) / 1000)
        let rows = [pageRow(Todo(content: ""), seq: 1, stamp: Self.now + Self.day, ["content": "Tomorrow"])]
        try await phone.store.receive(rows, from: "e1.0", to: "e1.1")
        let other = try DatabaseQueue(path: phone.file.path)
        func version() async throws -> Int64? { try await other.read { try Store.dataVersion($0) } }
        try await phone.store.correctClock(by: date, roundTrip: .zero)
        try await phone.store.write { try Todo(content: "Mine").insert($0) }
        let before = try await version()
        try await phone.store.correctClock(by: date, roundTrip: .zero)
        #expect(try await version() == before)
    }

    @Test func `M4 a delete stamped far in the future does not hold the clock there`() async throws {
        let phone = try Phone(at: Self.now + 365 * Self.day)
        try await phone.store.receive(
            [pageRow(Todo(content: ""), seq: 1, stamp: Self.now, ["content": "Old"])], from: "e1.0", to: "e1.1")
        try await phone.store.write { try $0.execute(sql: "DELETE FROM todo") }
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        try await phone.store.apply([.accepted(seq: 2)], of: batch)
        try await phone.store.write { try Todo(content: "Anew").insert($0) }
        try await phone.store.correctClock(by: Date(timeIntervalSince1970: Double(Self.now) / 1000), roundTrip: .zero)
        #expect(phone.store.capture.lastStamp.milliseconds < Self.now + 60_000)
    }

    @Test func `M4 a restarted clock leaves no ceiling far ahead in the file`() async throws {
        let phone = try Phone(at: Self.now)
        // As after a page that was seen but not committed.
        phone.store.capture.witness(Stamp(milliseconds: Self.now + Self.day))
        try await phone.store.correctClock(by: Date(timeIntervalSince1970: Double(Self.now) / 1000), roundTrip: .zero)
        try phone.reopen()
        #expect(phone.store.capture.lastStamp.milliseconds < Self.now + 60_000)
    }

    @Test func `M4 a second process uses the clock offset that the first one measured`() async throws {
        let phone = try Phone(at: Self.now)
        let other = try Store(
            at: phone.file, synced: [Todo.self], durability: .normal,
            dependencies: Dependencies(now: { Date(timeIntervalSince1970: Double(Self.now) / 1000) }),
            migrate: Todo.migrate)
        let server = Date(timeIntervalSince1970: Double(Self.now + Self.day) / 1000)
        try await phone.store.correctClock(by: server, roundTrip: .zero)
        let todo = Todo(content: "From the widget")
        try await other.write { try todo.insert($0) }
        #expect(try await other.entry(todo)?.lifeStamp.milliseconds == Self.now + Self.day)
    }
}
