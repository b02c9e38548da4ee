// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
import Metrics
import OptimistCore
import ServiceLifecycle

/// Records gauges every 15 seconds, and when `/metrics` is requested.
struct FigureWatch: Service {
    private let figures: @Sendable () async throws -> StorageFigures
    private let pokes: Pokes
    private let deliveries: [WebhookDeliveries]
    private let dependencies: Dependencies
    private let factory: any MetricsFactory

    static let interval = Duration.seconds(15)

    init(
        _ metrics: ServerMetrics, storage: OpenedStorage, pokes: Pokes, deliveries: [WebhookDeliveries],
        dependencies: Dependencies
    ) {
        figures = storage.figures
        self.pokes = pokes
        self.deliveries = deliveries
        self.dependencies = dependencies
        factory = metrics.factory
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await dependencies.clock.sleep(for: Self.interval)) != nil { await look() }
        }
    }

    /// A value that cannot be read keeps its last state. A value that the storage does not have is left out, because
    /// zero would be misleading.
    func look() async {
        record("optimist.streams.open", pokes.count)
        for delivery in deliveries {
            let (report, webhook) = (delivery.report, [("webhook", delivery.name)])
            record("optimist.webhook.accounts.waiting", report.waiting, webhook)
            record("optimist.webhook.accounts.failing", report.failing, webhook)
            record("optimist.webhook.lag.seconds", report.lagSeconds, webhook)
            record("optimist.webhook.off", report.isOff ? 1 : 0, webhook)
        }
        guard let figures = try? await figures() else { return }
        record("optimist.writes.waiting", figures.waiting)
        if let bytes = figures.databaseBytes { record("optimist.database.bytes", bytes) }
        if let bytes = figures.logBytes { record("optimist.database.log.bytes", bytes) }
        if let pool = figures.pool {
            record("optimist.pool.connections", pool.size)
            record("optimist.pool.busy", pool.busy)
        }
    }

    private func record(_ label: String, _ value: some BinaryInteger, _ dimensions: [(String, String)] = []) {
        Gauge(label: label, dimensions: dimensions, factory: factory).record(value)
    }
}
