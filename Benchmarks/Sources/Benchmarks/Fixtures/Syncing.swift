// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistTesting

func syncing(_ store: Store, with server: PreparedServer, _ work: () async throws -> Void) async throws {
    let engine = SyncEngine(store: store, session: try server.session(), reachability: ManualReachability())
    let running = Task { await engine.run() }
    defer { running.cancel() }
    try await work()
    running.cancel()
    await running.value
}

extension [Todo] {
    func parts(of size: Int) -> [[Todo]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
