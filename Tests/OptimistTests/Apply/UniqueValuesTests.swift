// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct UniqueValuesTests {
    private func phone(_ server: InMemoryServer, writing content: String) async throws -> SyncedPhone {
        let phone = try SyncedPhone(server)
        try await phone.write("CREATE UNIQUE INDEX content ON todo(content)")
        try await phone.store.write { try Todo(content: content).insert($0) }
        return phone
    }

    @Test func `M6 V2 the second of two equal values is rejected, and is accepted with another value`() async throws {
        var schema = Schema.planner
        schema.types["todo"]?.uniqueIndexes = [UniqueIndex(["content"])]
        let server = InMemoryServer(schema: schema)
        let (a, b) = (
            try await phone(server, writing: "Tickets"), try await phone(server, writing: "Tickets")
        )
        let mine = try #require(try await b.store.todos().first)
        a.start()
        try await a.untilClean()
        b.start()
        try await b.until { try await $0.counts().rejected == 1 }
        let rejection = try #require(try await b.store.rejections().first)
        #expect(rejection.code == "uniqueViolation")
        #expect(rejection.rowID == mine.wireID)
        #expect(rejection.mine["content"] == "Tickets")
        let first = try await a.store.todos()
        try await b.until { try await $0.todos() == first }

        try await b.store.retry(rejection, with: ["content": "Visa"])
        try await a.untilContents(["Tickets", "Visa"])
        try await b.untilClean()
        #expect(try await b.store.rejections().isEmpty)
        #expect(try await b.store.todos() == a.store.todos())
        await a.stop()
        await b.stop()
    }

    @Test func `M6 a unique index that the server does not know stops sync, and the status explains why`()
        async throws
    {
        let server = InMemoryServer(schema: .planner)
        let phone = try await phone(server, writing: "Tickets")
        let engine = phone.start()
        var told: String?
        for await status in engine.statuses {
            guard case .failed(let message) = status.phase else { continue }
            told = message
            break
        }
        await phone.stop()
        #expect(told?.contains("@unique") == true)
        #expect(server.pushes.isEmpty)
        #expect(try await phone.store.counts().pending == 1)
    }
}
