// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
@_spi(Internals) import OptimistServing
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// The reading connections and their use.
@Suite(.timeLimit(.minutes(20)))
struct ReadTurnsTests {
    /// Blocks reads until it is opened.
    private final class Gate: Sendable {
        let semaphore = DispatchSemaphore(value: 0)
        private let count = Mutex(0)
        var begun: Int { count.withLock(\.self) }

        func wait() {
            count.withLock { $0 += 1 }
            semaphore.wait()
        }
    }

    @Test func `S9 one account's long reads never keep other accounts from reading`() async throws {
        let server = try await Site().open()
        let (busy, other) = (try await server.signUp(), try await server.signUp("b@example.org"))
        let rows = server.storage.rows
        // On PostgreSQL an account's first read migrates it to the current schema, which is a write.
        for person in [busy, other] {
            _ = try await rows.read(account: person.account, as: .person(person.account)) { $0.seq }
        }
        let turns = try #require((rows as? SQLiteSyncStore)?.reads ?? (rows as? PostgresSyncStore)?.reads)
        let gate = Gate()
        let reads = (0..<8).map { _ in
            Task { try await rows.read(account: busy.account, as: .person(busy.account)) { _ in gate.wait() } }
        }
        while turns.waitingCount < 6 || gate.begun < 2 { await Task.yield() }
        _ = try await rows.read(account: other.account, as: .person(other.account)) { $0.seq }
        #expect(gate.begun == 2)
        for _ in reads { gate.semaphore.signal() }
        for read in reads { try await read.value }
        #expect(gate.begun == 8 && turns.waitingCount == 0)
    }

    @Test func `a read that waits behind its account's other reads ends when it is cancelled`() async throws {
        let (turns, gate) = (ReadTurns(connections: 2), AsyncStream.makeStream(of: Void.self))
        let first = Task { try await turns.run(of: .person("a")) { for await _ in gate.stream {} } }
        while turns.runningCount < 1 { await Task.yield() }
        let second = Task { try await turns.run(of: .person("a")) {} }
        while turns.waitingCount < 1 { await Task.yield() }
        try await turns.run(of: .person("b")) {}
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.continuation.finish()
        try await first.value
        #expect(turns.runningCount == 0)
        try await turns.run(of: .person("a")) {}
    }

    @Test func `a read that fails frees its place`() async throws {
        let turns = ReadTurns(connections: 1)
        for _ in 1...3 {
            await #expect(throws: CancellationError.self) {
                try await turns.run(of: .person("a")) { throw CancellationError() }
            }
        }
        try await turns.run(of: .person("a")) {}
        #expect(turns.runningCount == 0)
    }
}
