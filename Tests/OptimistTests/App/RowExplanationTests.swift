// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

struct RowExplanationTests {
    private let phone: Phone
    private var store: Store { phone.store }
    private let todo = Todo(content: "Tickets", priority: 1)

    init() async throws {
        phone = try Phone()
        let todo = todo
        try await phone.store.write { try todo.insert($0) }
    }

    @Test func `the explanation of a row shows it as unsent, then as sent, then as synced`() async throws {
        let fresh = try await store.explain(todo)
        #expect(fresh.pending?.kind == .create && !fresh.isSynced && fresh.parked == nil && fresh.rejections.isEmpty)
        #expect("\(fresh)".hasPrefix("Its creation is not sent yet (pending since 20"))
        let batch = try #require(try await store.nextPush(PushLimit()))
        let sent = try await store.explain(todo)
        #expect(sent.pending?.isInFlight == true && "\(sent)".hasPrefix("Its creation is being sent (pending since"))
        try await store.apply([.accepted(seq: 1)], of: batch)
        let synced = try await store.explain(todo)
        #expect(synced.isSynced && "\(synced)" == "The server has the same row.")
    }

    @Test func `a deferred row is explained with its reason and next attempt, and another row without them`()
        async throws
    {
        let other = Todo(content: "Other")
        let batch = try #require(try await store.nextPush(PushLimit()))
        let reason = DeferralReason("schemaTooNew", column: "content")
        try await store.apply([.retry(after: .seconds(60), reason)], of: batch)
        let late = try await store.explain(todo)
        #expect(late.pending?.waitReason == reason && late.pending?.nextAttempt != nil)
        #expect("\(late)".contains("The server does not know the column \"content\" yet. The next attempt is at 20"))
        let unknown = try await store.explain(other)
        #expect(!unknown.isSynced && unknown.pending == nil && unknown.serversWord == .nothing)
        #expect("\(unknown)" == "The row has no unsent changes, and the server does not have it.")
    }

    @Test func `a refused row is explained with the refusal's code and message`() async throws {
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.rejected(RemotePush.Refusal(code: "forbidden", message: "Not yours."))], of: batch)
        let refused = try await store.explain(todo)
        #expect(refused.pending == nil && refused.rejections.map(\.code) == ["forbidden"])
        #expect("\(refused)".contains("(forbidden): Not yours."))
    }

    @Test func `a column filled by a migration is explained as missing on the server`() async throws {
        let (server, device) = (AppServer(), try Device([Shop.Item.self], migrate: Shop.first))
        let item = Shop.Item(title: "Boat")
        try await device.store.write { try item.insert($0) }
        try await device.sync(with: server)
        #expect(try await device.store.explain(item).isSynced)
        try device.open([Shop.ColouredItem.self], migrate: Shop.coloured)
        let filled = try await device.store.explain(Shop.ColouredItem(id: item.id))
        #expect(!filled.isSynced && filled.serversWord == .alive(lacking: ["colour"]))
        #expect(
            "\(filled)".hasPrefix("The server has the row without values for colour: a migration filled these in, and"))
        try await device.execute("UPDATE item SET colour = 'red'")
        try await device.sync(with: server)
        #expect(try await device.store.explain(Shop.ColouredItem(id: item.id)).isSynced)
        try await device.execute("DELETE FROM item")
        try await device.sync(with: server)
        let deleted = try await device.store.explain(Shop.ColouredItem(id: item.id))
        #expect(deleted.isSynced && "\(deleted)" == "The row is deleted here and on the server.")
    }

    @Test func `a row of a deleted account is not synced until the account returns`() async throws {
        try await store.bind(to: "server#1", as: .account("server#1")) { .account("server#1") }
        try await store.pushAccepted(seq: 1)
        #expect(try await store.explain(todo).isSynced)
        try await store.noteAccountDeleted()
        let gone = try await store.explain(todo)
        #expect(gone.serversWord == .accountDeleted && !gone.isSynced)
        #expect("\(gone)" == "The account and its data on the server were deleted. The row stays on this device.")
        try phone.reopen()
        #expect(try await store.explain(todo).serversWord == .accountDeleted, "also after a relaunch")
        try await store.bind(to: "server#1", as: .account("server#1")) { .account("server#1") }
        #expect(try await store.explain(todo).isSynced)
    }

    @Test func `the end of a visitor's account does not affect the rows of the file's owner`() async throws {
        try await store.bind(to: "server#1", as: .account("server#1")) { .account("server#1") }
        try await store.pushAccepted(seq: 1)
        try await store.note(.account("server#2"))
        try await store.noteAccountDeleted()
        #expect(try await store.explain(todo).isSynced)
    }

    @Test func `explaining a record of an unsynced table is an error`() async throws {
        await #expect { try await store.explain(Project(title: "No")) } throws: {
            ($0 as? OptimistError)?.code == .invalidTable
        }
    }
}
