// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServing
import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistServer

/// A server whose clock jumps.
@Suite(.timeLimit(.minutes(20)))
struct TimeTests {
    private let site = Site()
    private let book = LogBook()
    private static let day = 86_400.0

    private func words(_ text: String) -> Int { book.lines.count { $0.message.contains(text) } }

    private func settings(_ configuration: inout ServerConfiguration) {
        configuration.tombstoneDays = 5
        configuration.refreshTokenLifetime = .seconds(10 * Self.day)
        configuration.logger = book.logger
    }

    /// Creates and deletes a row, and waits for the housekeeping. Returns a request for the deletion.
    private func deleteRow(of person: Person, on server: OptimistServer) async throws -> JSON {
        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(1): ["content": "a"]]])
        _ = try await server.call(person, "todo/set", ["destroy": [.string(RowKey.id(1))]])
        await site.untilHousekeepingRests()
        return ["sinceState": .string("\(server.epoch).1"), "inline": true]
    }

    @Test func `O14 a clock jump of a minute is logged and one of a day is held, and trusted time continues`() {
        var trust = TimeTrust(highest: nil, now: 1_000, elapsed: 0)
        #expect(trust.look(at: 1_060, elapsed: 1) == nil)
        #expect(trust.look(at: 1_200, elapsed: 10) == .leapt(131))
        #expect(trust.look(at: 1_100, elapsed: 20) == .leapt(-110))
        #expect(trust.look(at: 200_000, elapsed: 30) == .held(198_890))
        #expect(trust.look(at: 200_001, elapsed: 31) == nil && trust.isHeld)
        #expect(trust.time(at: 200_005, elapsed: 35).time == 1_115)
        #expect(trust.look(at: 1_120, elapsed: 40) == .back && !trust.isHeld)
        #expect(trust.look(at: -100_000, elapsed: 50) == .held(-101_130))
        #expect(trust.time(at: 1_140, elapsed: 60).time == 1_140)
        var restarted = TimeTrust(highest: 1_000, now: 100_000, elapsed: 5)
        #expect(restarted.look(at: 100_000, elapsed: 5) == .held(99_000))
        var agreed = TimeTrust(highest: nil, now: 100_000, elapsed: 5)
        #expect(agreed.look(at: 100_000, elapsed: 5) == nil)
    }

    @Test func `O14 a clock 200 days ahead purges nothing and ends no session, and normal work resumes afterwards`()
        async throws
    {
        try await site.serving(change: settings) { server, http async throws in
            let person = try await http.signUp()
            let since = try await deleteRow(of: person, on: server)
            site.leap(by: 200 * Self.day)
            #expect(try await http.get("/jmap/session", token: person.access).status == 200)
            let next = try await http.form("/auth/token", "grant_type=refresh_token&refresh_token=\(person.refresh)")
            #expect(next.status == 200)
            site.clock.advance(by: Housekeeping.interval)
            await site.untilHousekeepingRests()
            #expect(try await server.call(person, "todo/changes", since)["type"] == nil, "the deletion was swept")
            #expect(try await site.count(of: "optimist_sessions", account: person.account) == 1)
            #expect(words("more than a day away") == 1 && words("old data is not removed") >= 1)
            site.leap(by: -200 * Self.day)
            #expect(try await http.get("/jmap/session", token: person.access).status == 200)
            #expect(words("correct again") == 1)
            site.advance(by: 7 * Self.day)
            site.clock.advance(by: Housekeeping.interval)
            await site.untilHousekeepingRests()
            #expect(try await server.call(person, "todo/changes", since)["type"] == "cannotCalculateChanges")
        }
    }

    @Test func `O14 a row written while the clock shows 1970 does not cause earlier deletions to be purged`()
        async throws
    {
        try await site.serving(change: settings) { server, http async throws in
            let person = try await http.signUp()
            let since = try await deleteRow(of: person, on: server)
            let years = site.now.timeIntervalSince1970 - 1_000
            site.leap(by: -years)
            _ = try await server.call(person, "todo/set", ["create": [RowKey.id(2): ["content": "b"]]])
            site.leap(by: years)
            site.clock.advance(by: Housekeeping.interval)
            await site.untilHousekeepingRests()
            #expect(try await server.call(person, "todo/changes", since)["type"] == nil, "the deletion was swept")
        }
    }

    @Test func `O14 a start a day after the data's last time waits for an operator to accept the clock`()
        async throws
    {
        let person = try await site.serving(change: settings) { _, http async throws in
            let person = try await http.signUp()
            await site.untilHousekeepingRests()
            return person
        }
        site.leap(by: 20 * Self.day)
        func isGranted(_ change: (inout ServerConfiguration) -> Void) async throws -> Bool {
            try await site.serving { configuration in
                settings(&configuration)
                change(&configuration)
            } _: { _, http async throws in
                await site.untilHousekeepingRests()
                let form = "grant_type=refresh_token&refresh_token=\(person.refresh)"
                return try await http.form("/auth/token", form).status == 200
            }
        }
        #expect(try await isGranted { _ in })
        #expect(words("more than a day away") == 1)
        let now = site.now
        #expect(try await isGranted { $0.acceptedTime = now.addingTimeInterval(-3 * Self.day) }, "another day")
        #expect(try await !isGranted { $0.acceptedTime = now.addingTimeInterval(Self.day) })
        #expect(words("more than a day away") == 2)
        _ = try await isGranted { _ in }
        #expect(words("more than a day away") == 2, "the data knows the time that was agreed to")
    }

    @Test func `O14 a clock jump of hours is logged and believed`() async throws {
        try await site.serving(change: settings) { _, http async throws in
            let person = try await http.signUp()
            site.leap(by: 2 * 3_600)
            #expect(try await http.get("/jmap/session", token: person.access).status == 401)
            #expect(words("clock jumped") == 1)
        }
    }
}
