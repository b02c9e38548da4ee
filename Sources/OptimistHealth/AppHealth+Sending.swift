// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Logging
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistWire

extension AppHealth {
    /// The longest time between two checks for new reports.
    private static let interval = Duration.seconds(3600)

    /// Counts new reports and sends totals until the calling task is cancelled. Call it once.
    ///
    /// Failed sends are retried with backoff, and earlier when the network returns. If the server does not accept such
    /// reports, the next attempt is a day later.
    public func run() async {
        guard isOn else { return }
        let paths = Newest<NetworkPath?>(nil)
        await withTaskGroup(of: Void.self) { group in
            if let reachability {
                group.addTask {
                    var version = 1
                    for await path in reachability.updates {
                        version += 1
                        paths.publish(path, version: version)
                    }
                }
            }
            await loop(paths)
            group.cancelAll()
        }
    }

    private func loop(_ paths: Newest<NetworkPath?>) async {
        var schedule = SendSchedule(
            path: reachability == nil ? NetworkPath(isOnline: true) : nil, backoff: configuration.backoff,
            allowsExpensive: configuration.sendsOnExpensiveNetworks,
            randomness: dependencies.randomness(for: "health.backoff"))
        var seen = 1
        while !Task.isCancelled {
            do { try await countEarlierLaunches() } catch {
                logger.debug("Health records cannot be written", metadata: ["error.type": "\(type(of: error))"])
            }
            schedule.found(work: canSend && unsent()?.totals.isEmpty == false)
            switch schedule.next {
            case .send: schedule.answered(await send())
            case .wait(let pause): await wait(pause, &schedule, paths, &seen)
            }
        }
    }

    private var canSend: Bool { transport != nil && configuration.server != nil }

    private func wait(
        _ pause: Duration?, _ schedule: inout SendSchedule, _ paths: Newest<NetworkPath?>, _ seen: inout Int
    ) async {
        let time = min(pause ?? Self.interval, Self.interval)
        let (clock, version) = (dependencies.clock, seen)
        let stopwatch = Stopwatch(clock)
        let ends: [@Sendable () async throws -> (path: NetworkPath, version: Int)?] = [
            {
                try await clock.sleep(for: time)
                return nil
            },
            {
                var version = version
                guard let path = await paths.next(after: &version), let path else { throw CancellationError() }
                return (path, version)
            },
        ]
        let news = try? await firstOf(ends)
        schedule.waited(stopwatch())
        guard let news else { return }
        seen = news.version
        schedule.moved(to: news.path)
    }

    /// - Returns: Whether the server has everything now.
    package func sendOnce() async -> Bool { await send() == .accepted }

    func send() async -> SendSchedule.Answer {
        guard let transport, let server = configuration.server, let (install, unsent) = unsent() else {
            return .refused
        }
        for totals in HealthParcels.pack(unsent.map(\.totals)) {
            let report = HealthReport(app: configuration.app, install: install, totals: totals)
            let answer = await send(report, to: server, transport)
            guard answer == .accepted else { return answer }
        }
        noteSent(unsent)
        return .accepted
    }

    private func send(_ report: HealthReport, to server: URL, _ transport: any Transport) async -> SendSchedule.Answer {
        do {
            let address = ServerAddress(
                server, allowsPlainHTTPToPrivateAddresses: configuration.allowsPlainHTTPToPrivateAddresses)
            let head = try address.head(.post, "/health/reports", [.contentType: "application/json"])
            let answer = try await transport.send(
                TransportRequest(head: head, body: report.json.bytes, isRepeatable: true))
            _ = try await answer.body.collect(upTo: 65_536)
            if answer.head.status.kind == .successful { return .accepted }
            guard answer.head.isTemporaryFailure else {
                logger.debug(
                    "The server does not accept health reports",
                    metadata: ["http.status": "\(answer.head.status.code)"])
                return .refused
            }
            return .failed(retryAfter: answer.head.retryAfter(now: dependencies.now()))
        } catch is OptimistError {
            logger.debug("No health report was sent: the server's address must begin with https")
            return .refused
        } catch {
            return .failed(retryAfter: nil)
        }
    }
}
