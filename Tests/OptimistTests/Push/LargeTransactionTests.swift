// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
import OptimistWire
import TestForm
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct LargeTransactionTests {
    private static let rows = TestForm.of(short: 2_500, full: 5_000, soak: 50_000)

    @Test(arguments: 1...TestForm.of(short: 3, full: 5, soak: 20))
    func `R7 an update of many rows arrives although pokes and pages are lost and the stream is cut`(
        seed: UInt64
    ) async throws {
        let server = InMemoryServer(schema: .planner)
        let (a, b) = (try SyncedPhone(server), try SyncedPhone(server))
        a.start()
        let remote = LossyRemote(b.remote, seed: seed)
        let engine = SyncEngine(store: b.store, remote: remote, reachability: ManualReachability())
        let run = Task { await engine.run() }
        try await a.store.write { db in for number in 0..<Self.rows { try Todo(content: "\(number)").insert(db) } }
        for round in 1...2 {
            try await a.write("UPDATE todo SET priority = \(round)")
            try await a.untilClean()
            try await b.clock.pass(for: engine) {
                try await b.store.read { db in
                    try Todo.filter(Column("priority") == round).fetchCount(db) == Self.rows
                }
            }
        }
        run.cancel()
        await run.value
        await a.stop()
    }
}

/// Loses pokes and pages, and cuts the stream. With seed 1, no poke arrives at all.
private final class LossyRemote: Remote {
    private let remote: any Remote
    private let random: Mutex<SplitMix64>
    private let pokeLoss: Double

    init(_ remote: any Remote, seed: UInt64) {
        self.remote = remote
        random = Mutex(SplitMix64(seed: seed))
        pokeLoss = seed == 1 ? 1 : 0.8
    }

    private func happens(_ chance: Double) -> Bool { random.withLock { Double.random(in: 0..<1, using: &$0) < chance } }

    var guarantees: RemoteGuarantees { remote.guarantees }
    func connect() async throws -> RemoteAccount { try await remote.connect() }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { try await remote.push(push) }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        let page = try await remote.pull(request)
        if happens(0.3) { throw RemoteFailure.unreachable("lost") }
        return page
    }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        let page = try await remote.snapshot(request)
        if happens(0.3) { throw RemoteFailure.unreachable("lost") }
        return page
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws {
        let (cuts, cut) = AsyncStream<Void>.makeStream()
        let stream = Task {
            try await remote.listen { [self] poke in
                if poke == .alive || !happens(pokeLoss) { receive(poke) }
                if pokeLoss < 1, happens(0.1) { cut.finish() }
            }
        }
        for await _ in cuts {}
        stream.cancel()
        throw RemoteFailure.unreachable("cut")
    }
}
