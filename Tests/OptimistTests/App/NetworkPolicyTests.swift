// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct NetworkPolicyTests {
    private let mobile = NetworkPath(isOnline: true, isExpensive: true)
    private let home = NetworkPath(isOnline: true)

    @Test func `S10 by default, every table syncs on every network`() async throws {
        let server = InMemoryServer(schema: .planner)
        let phone = try SyncedPhone(server)
        phone.start()
        try await phone.until { try await $0.counts().lastSync != nil }
        phone.reachability.update(NetworkPath(isOnline: true, isExpensive: true, isConstrained: true))
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        try await phone.untilClean()
        await phone.stop()
    }

    @Test func `S10 a withheld table is neither sent nor received until the network improves`() async throws {
        let server = InMemoryServer(schema: .planner)
        let (phone, other) = (try SyncedPhone(server), try SyncedPhone(server))
        let engine = phone.start()
        other.start()
        engine.setNetworkPolicy { table, path in table != "todo" || !path.isExpensive }
        try await phone.until { try await $0.counts().lastSync != nil }
        phone.reachability.update(mobile)
        while !phone.store.network.withheld(of: phone.store.layouts).contains(where: { $0.name == "todo" }) {
            await Task.yield()
        }
        // A pull that began on the better network may still be under way.
        try await engine.statuses.reach { $0.phase == .idle }
        try await phone.store.write { try Todo(content: "mine").insert($0) }
        try await other.store.write { try Todo(content: "theirs").insert($0) }
        try await other.untilClean()
        engine.syncNow()
        #expect(try await phone.store.todos().map(\.content) == ["mine"])
        #expect(try await !phone.store.pushOutlook().isSendable)
        #expect(try await phone.store.counts().pending == 1)
        #expect(server.rows("todo").count == 1)

        phone.reachability.update(home)
        try await phone.untilContents(["mine", "theirs"])
        try await phone.untilClean()
        await phone.stop()
        await other.stop()
    }

    @Test func `S10 rows written together with a withheld row wait for it, and other rows are sent`() async throws {
        let desk = try Desk()
        desk.store.network.set(mobile)
        desk.store.network.set { table, _ in table != "step" }
        let (alone, together) = (Project(title: "alone"), Project(title: "together"))
        try await desk.store.write { try alone.insert($0) }
        try await desk.store.write { db in
            try together.insert(db)
            try Step(text: "Paint", project: together.id).insert(db)
        }
        let first = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(first.push.rows.map(\.id) == [alone.wireID])
        try await desk.store.apply([.accepted(seq: 1)], of: first)
        #expect(try await desk.store.nextPush(PushLimit()) == nil)
        desk.store.network.set(home)
        #expect(try await desk.store.nextPush(PushLimit())?.push.rows.count == 2)
    }

    @Test func `L6 a revoked account removes nothing, and the status reports it`() async throws {
        let server = InMemoryServer(schema: .planner)
        let phone = try SyncedPhone(server)
        let engine = phone.start()
        try await phone.store.write { try Todo(content: "synced").insert($0) }
        try await phone.untilClean()
        server.setOutage(.forbidden("The server refuses this account."))
        try await phone.store.write { try Todo(content: "pending").insert($0) }
        let revoked = SyncStatus.Phase.paused(
            reason: PauseReason(.accountRefused, "The server refuses this account."))
        try await engine.statuses.reach { $0.phase == revoked }
        #expect(try await phone.store.todos().map(\.content) == ["pending", "synced"])
        #expect(try await phone.store.counts().pending == 1)
        server.setOutage(nil)
        await phone.clock.sleepers(atLeast: 1)
        phone.clock.advance(by: .seconds(60))
        try await phone.untilClean()
        await phone.stop()
    }
}
