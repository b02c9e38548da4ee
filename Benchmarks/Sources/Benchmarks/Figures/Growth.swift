// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistWire

/// The cost of a row in tables of a thousand to a million synced rows.
struct Growth: Benchmark {
    static let name = "growth"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        for rows in [1_000, 10_000, 100_000, 1_000_000].map({ effort.rows($0) }) {
            let store = try await filled(with: rows, in: folder)
            // Push first: the next two figures leave rows pending.
            report(figure("push", rows, per: Self.pushed, try await push(store)))
            report(figure("write", rows, per: 1, try await write(store)))
            report(figure("observe", rows, per: 1, try await observe(store)))
        }
    }

    private static let pushed = 1_000

    private func figure(_ what: String, _ rows: Int, per count: Int, _ seconds: [Double]) -> Figure {
        let samples = Samples(seconds.map { $0 / Double(count) })
        var figure = Figure("\(what), among \(grouped(Double(rows))) rows", .time(samples))
        figure.point = GrowthPlot.Point(name: what, rows: rows, seconds: samples.median)
        return figure
    }

    private func filled(with rows: Int, in folder: ScratchFolder) async throws -> Store {
        let store = try folder.store(isIndexed: true)
        let server = PreparedServer(received: Todo.inOrder(rows).parts(of: RowSync.Limit.pageRows))
        try await syncing(store, with: server) { await server.isDrained() }
        return store
    }

    private func write(_ store: Store) async throws -> [Double] {
        var times: [Double] = []
        for todo in Todo.make(effort.rows(400)) {
            times.append(try await effort.gauge.seconds { try await store.write { try todo.insert($0) } })
        }
        return times
    }

    private func observe(_ store: Store) async throws -> [Double] {
        let watch = Watch(store.observe { try Todo.order(Column("id")).limit(100).fetchAll($0) }.map { try $0.get() })
        return try await watch.times(effort.rows(400)) { change in try await store.write(change) }
    }

    private func push(_ store: Store) async throws -> [Double] {
        var times: [Double] = []
        for round in 0...effort.rounds(10) {
            let todos = Todo.make(Self.pushed)
            let server = PreparedServer(pushed: [todos.map(\.id)])
            try await store.write { try todos.insert($0) }
            let receipt = try await store.pendingReceipt()
            let seconds = try await effort.gauge.seconds {
                try await syncing(store, with: server) { _ = try await store.rejections(awaiting: receipt) }
            }
            if round > 0 { times.append(seconds) }
        }
        return times
    }
}
