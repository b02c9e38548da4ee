// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistPostgres

/// The logic of connections and announcements, without a database.
struct PostgresValuesTests {
    // MARK: - Turns

    /// Adds jobs, and returns whether each was accepted.
    private func add(_ jobs: [(Int, String)], to queue: inout TurnQueue<Int>) -> [Bool] {
        jobs.map { queue.add($0.0, of: $0.1) }
    }

    /// Takes all available jobs.
    private func takeAll(_ queue: inout TurnQueue<Int>) -> [Int] {
        var jobs: [Int] = []
        while let turn = queue.next() { jobs.append(turn.job) }
        return jobs
    }

    @Test func `owners take turns, and each has one connection at a time`() {
        var queue = TurnQueue<Int>(limit: 10)
        _ = add([(1, "busy"), (2, "busy"), (3, "busy"), (4, "other")], to: &queue)
        let first = takeAll(&queue)
        queue.finished("busy")
        let second = takeAll(&queue)
        #expect(first == [1, 4] && second == [2])
    }

    @Test func `a limited number of jobs wait, and removed jobs do not count`() {
        var queue = TurnQueue<Int>(limit: 2)
        let before = add([(1, "a"), (2, "a"), (3, "b")], to: &queue)
        let taken = [queue.remove(of: "a") { $0 == 1 }, queue.remove(of: "a") { $0 == 1 }]
        let after = add([(3, "b")], to: &queue)
        #expect(before == [true, true, false] && after == [true])
        #expect(taken == [1, nil])
        let jobs = takeAll(&queue)
        #expect(jobs == [2, 3] && queue.count == 0)
    }

    @Test func `an owner whose jobs were all removed is skipped`() {
        var queue = TurnQueue<Int>(limit: 9)
        _ = add([(1, "a")], to: &queue)
        _ = queue.remove(of: "a") { _ in true }
        _ = add([(2, "a")], to: &queue)
        let jobs = takeAll(&queue)
        queue.finished("a")
        let rest = takeAll(&queue)
        #expect(jobs == [2] && rest.isEmpty)
    }

    // MARK: - Announcements

    private let here = AnnouncementText(sender: "e1")
    private let there = AnnouncementText(sender: "e2")

    private func change(_ account: String, _ seq: Int64, _ types: String...) -> Announcement {
        .changed(account: account, types: Set(types), state: SyncState(epoch: "e", seq: seq))
    }

    @Test func `a process reads other processes' announcements and ignores its own`() {
        let all = [change("a", 3, "todo"), .ended(account: "b", session: "s", reason: .signedInElsewhere)]
        let payloads = here.payloads(all)
        #expect(payloads.count == 1)
        #expect(payloads.flatMap(there.announcements) == all)
        #expect(payloads.flatMap(here.announcements).isEmpty)
        #expect(there.announcements(in: "nonsense").isEmpty && there.announcements(in: "[\"e1\",[\"x\"],5]").isEmpty)
    }

    @Test func `changes of one account are combined, with the last state and all types`() {
        let payloads = here.payloads([
            change("a", 3, "todo"), change("b", 1, "list"), change("a", 5, "list"), change("a", 4, "x"),
        ])
        #expect(payloads.flatMap(there.announcements) == [change("a", 5, "todo", "list", "x"), change("b", 1, "list")])
    }

    @Test func `many announcements are split into pieces that each fit`() {
        let all = (0..<2_000).map { change("account\($0)", 1, "todo") }
        let payloads = here.payloads(all)
        #expect(payloads.allSatisfy { $0.utf8.count < 8_000 } && payloads.count > 5)
        #expect(payloads.flatMap(there.announcements) == all)
    }

    // MARK: - Keys, places and errors

    @Test func `a key too long for an index is replaced by its hash, and different keys stay different`() {
        let (long, longer) = (String(repeating: "x", count: 3_000), String(repeating: "x", count: 3_001))
        #expect(long.shortKey.utf8.count == 65 && long.shortKey.hasPrefix("#"))
        #expect(long.shortKey != longer.shortKey)
        #expect("short".shortKey == "short")
        #expect("a\0b".shortKey.hasPrefix("#"))
        #expect("ÄA@X".lowercasedInASCII == "Äa@x")
    }

    @Test(arguments: [
        ("postgres://u:secret@h/d", "postgres://u@h/d"), ("postgres://u@h/d", "postgres://u@h/d"),
        ("postgres:///d?host=/s&password=secret", "postgres:///d?host=/s&password=…"),
        ("postgres://u:a@secret@h/d", "postgres://u@h/d"), ("postgres://u:a/secret@h/d", "postgres://u@h/d"),
        ("postgres://u:a:secret@h/d", "postgres://u@h/d"), ("postgres://u:a?secret@h/d?x=1", "postgres://u@h/d?x=1"),
        ("postgres://u:5?secret@h/d", "postgres://u@h/d"), ("postgres://:secret@h/d", "postgres://@h/d"),
        ("postgres://h:5432,[::1]:5433/d?user=u@x", "postgres://h:5432,[::1]:5433/d?user=u@x"),
        ("postgres://h/d?pass%77ord=secret&a=b", "postgres://h/d?pass%77ord=…&a=b"),
        ("postgres://h/d?sslpassword=secret", "postgres://h/d?sslpassword=…"),
        ("host=h PASSWORD = 'a secret' user=u", "host=h PASSWORD = … user=u"),
        (#"host=h password='a \' secret"#, "host=h password=…"), ("password=secret host=h", "password=… host=h"),
    ])
    func `O2 a message names the database without its password`(url: String, place: String) {
        #expect(PostgresDatabase(url: url).place == place)
    }

    @Test(arguments: ["postgres://u:a@secret@h/d", "postgres://u:a/secret@h/d", "postgres://u:a?secret@h/d"])
    func `O2 a URL with an unescaped character in its password is refused without showing the password`(url: String) {
        do {
            _ = try PostgresConnection(url)
            Issue.record("It connects.")
        } catch {
            #expect(error.message.contains("%40") && !error.message.contains("secret"), "\(error)")
        }
    }

    @Test func `only errors that left nothing stored are retried`() {
        for state in ["40001", "40P01", "57P01"] { #expect(PostgresError(.refused(state)).isTransient) }
        #expect(PostgresError(.lost).isTransient)
        for state in ["23505", "53100", "57014", "55P03"] { #expect(!PostgresError(.refused(state)).isTransient) }
        #expect(!PostgresError(.commitUnknown).isTransient && !PostgresError(.exhausted).isTransient)
    }

    @Test func `a client's error omits the database's own text and has a Retry-After`() {
        let full = PostgresError(.refused("53100"), "could not extend file for row (a@example.org)")
        #expect(full.detail.contains("space") && full.retryAfterSeconds == 30)
        #expect(!full.detail.contains("example"))
        #expect(PostgresError(.outdated).detail.contains("later version"))
        #expect(
            OptimistError(PostgresError(.refused("42501"), "permission denied"), at: "p").code == .databaseUnsuitable)
    }
}
