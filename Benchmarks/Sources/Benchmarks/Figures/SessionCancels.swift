// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistCore
import OptimistSession

/// How soon requests that wait for a token refresh return when they are cancelled in random order.
struct SessionCancels: Benchmark {
    static let name = "session-cancels"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(10_000)
        let server = TokenServer(refreshLatency: .seconds(3600)) { _, _ in .unauthorized }
        let session = server.session()
        var tasks = (0..<count).map { _ in
            Task { _ = try await session.send(SessionRequest("/rows", deadline: .seconds(3600))) }
        }
        while server.counts.refreshes == 0 { await Task.yield() }
        // After this pause, all requests are in the queue.
        try await Task.sleep(for: .seconds(1))
        var random = SplitMix64(seed: 1)
        tasks.shuffle(using: &random)
        var times: [Double] = []
        for task in tasks {
            times.append(
                await Gauge.wall.seconds {
                    task.cancel()
                    _ = await task.result
                })
        }
        report(Figure("a cancelled request is back", .time(Samples(times))))
        report(
            Figure(
                "the slowest of \(grouped(Double(count)))", .time(Samples([Samples(times).quantile(1)])),
                target: Thresholds.cancelled))
        try await session.signOut()
        server.letGo()
    }
}
