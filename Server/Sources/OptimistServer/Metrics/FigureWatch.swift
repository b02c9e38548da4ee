// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
import Metrics
import OptimistCore
import ServiceLifecycle

/// Reports what goes up and down: every 15 seconds, and when `/metrics` is asked for.
struct FigureWatch: Service {
    private let figures: @Sendable () async throws -> StorageFigures
    private let pokes: Pokes
    private let surroundings: Surroundings
    private let streams: Gauge
    private let waiting: Gauge
    private let databaseBytes: Gauge
    private let logBytes: Gauge
    private let poolConnections: Gauge
    private let poolBusy: Gauge

    static let interval = Duration.seconds(15)

    init(_ metrics: ServerMetrics, storage: OpenedStorage, pokes: Pokes, surroundings: Surroundings) {
        figures = storage.figures
        self.pokes = pokes
        self.surroundings = surroundings
        func gauge(_ label: String) -> Gauge { Gauge(label: label, dimensions: [], factory: metrics.factory) }
        streams = gauge("optimist.streams.open")
        waiting = gauge("optimist.writes.waiting")
        databaseBytes = gauge("optimist.database.bytes")
        logBytes = gauge("optimist.database.log.bytes")
        poolConnections = gauge("optimist.pool.connections")
        poolBusy = gauge("optimist.pool.busy")
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await surroundings.clock.sleep(for: Self.interval)) != nil { await look() }
        }
    }

    /// Reports the figures as they are now. A figure that cannot be read stays as it was.
    func look() async {
        streams.record(pokes.count)
        guard let figures = try? await figures() else { return }
        waiting.record(figures.waiting)
        if let bytes = figures.databaseBytes { databaseBytes.record(bytes) }
        if let bytes = figures.logBytes { logBytes.record(bytes) }
        if let pool = figures.pool {
            poolConnections.record(pool.size)
            poolBusy.record(pool.busy)
        }
    }
}
