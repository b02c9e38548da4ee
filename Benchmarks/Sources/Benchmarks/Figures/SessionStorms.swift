// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession

/// A thousand simultaneous requests during failures of the session: the load on the server and the results.
struct SessionStorms: Benchmark {
    static let name = "session-storms"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        await expired(report)
        await unreachable(report)
        await ended(report)
        await refused(report)
        await outage(report)
    }

    private func expired(_ report: (Figure) -> Void) async {
        var (times, sends, refreshes, failures): ([Double], Int, Int, Int) = ([], 0, 0, 0)
        for _ in 0..<effort.rounds(15) {
            let server = TokenServer(refreshLatency: .milliseconds(200)) { $1 == 1 ? .unauthorized : .ok }
            let session = server.session()
            times.append(await Gauge.wall.seconds { failures += await errors(of: 1_000, session).count })
            sends = max(sends, server.counts.sends)
            refreshes = max(refreshes, server.counts.refreshes)
            server.letGo()
        }
        report(Figure("1,000 requests meet an expired token", .time(Samples(times)), target: Thresholds.expired))
        report(Figure("the most sends", .count(Double(sends)), target: Thresholds.expiredSends))
        report(Figure("the most renewals", .count(Double(refreshes)), target: Thresholds.oneRefresh))
        report(Figure("failures", .count(Double(failures)), target: Thresholds.nothing))
    }

    /// Sends another request every millisecond, because each is an occasion to retry the refresh.
    private func unreachable(_ report: (Figure) -> Void) async {
        var (refreshes, signOuts) = (0, 0)
        for _ in 0..<effort.rounds(10) {
            let server = TokenServer(isRefreshReachable: false) { _, _ in .unauthorized }
            let session = server.session()
            let waiting = Task { await errors(of: 1_000, session, .background) }
            let end = ContinuousClock.now + .seconds(1)
            while ContinuousClock.now < end {
                _ = await errors(of: 1, session)
                try? await Task.sleep(for: .milliseconds(1))
            }
            refreshes = max(refreshes, server.counts.refreshes)
            if session.account == nil { signOuts += 1 }
            waiting.cancel()
            _ = await waiting.value
            server.letGo()
        }
        report(
            Figure(
                "the most renewals in a second that fail", .count(Double(refreshes)),
                target: Thresholds.refreshesUnreachable))
        report(Figure("sign-outs", .count(Double(signOuts)), target: Thresholds.nothing))
    }

    private func ended(_ report: (Figure) -> Void) async {
        var (late, others) = (0, 0)
        for _ in 0..<effort.rounds(15) {
            let server = TokenServer(latency: .milliseconds(1)) { sends, _ in sends < 100 ? .ok : .revoked }
            let session = server.session()
            let errors = await errors(of: 1_000, session)
            others += errors.count { ($0 as? OptimistError)?.signOutReason != .revoked }
            late += server.counts.sendsAfterTheEnd
            server.letGo()
        }
        report(Figure("sends after the session has ended", .count(Double(late)), target: Thresholds.nothing))
        report(Figure("requests that fail for another reason", .count(Double(others)), target: Thresholds.nothing))
    }

    private func refused(_ report: (Figure) -> Void) async {
        let (seconds, server) = (Double(effort.rounds(10)), TokenServer(countsPaths: true) { _, _ in .unauthorized })
        let session = server.session()
        let end = ContinuousClock.now + .seconds(seconds)
        let requests = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var count = 0
                    while ContinuousClock.now < end {
                        count += 1
                        _ = try? await session.send(SessionRequest("/rows/\(worker)/\(count)"))
                        try? await Task.sleep(for: .milliseconds(5))
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
        precondition(requests > 100, "hardly anything was asked")
        let counts = server.counts
        let rate = Double(counts.refreshes) / seconds
        report(
            Figure(
                "renewals a second, where every token is refused", .count(rate), target: Thresholds.refreshesRefused))
        let most = Double(counts.sendsByPath.values.max() ?? 0)
        report(Figure("the most sends of a request", .count(most), target: Thresholds.sendsRefused))
        server.letGo()
    }

    private func outage(_ report: (Figure) -> Void) async {
        let server = TokenServer { _, _ in .unavailable }
        let session = server.session()
        // The first requests exhaust the retry budget.
        _ = await errors(of: 100, session)
        let before = server.counts.sends
        for _ in 0..<10 { _ = await errors(of: 100, session) }
        let sends = Double(server.counts.sends - before) / 1_000
        report(Figure("sends a request in an outage", .count(sends), target: Thresholds.sendsOutage))
        server.letGo()
    }
}

/// Returns the errors of simultaneous requests.
private func errors(
    of count: Int, _ session: Session, _ urgency: SessionRequest.Urgency = .interactive
) async -> [any Error] {
    await withTaskGroup(of: (any Error)?.self) { group in
        for _ in 0..<count {
            group.addTask {
                do { _ = try await session.send(SessionRequest("/rows", urgency: urgency)) } catch {
                    return error
                }
                return nil
            }
        }
        return await group.reduce(into: []) { errors, error in if let error { errors.append(error) } }
    }
}
