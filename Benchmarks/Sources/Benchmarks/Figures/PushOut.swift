// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist

/// The time from a bulk write to the last verdict, with a server that answers immediately.
struct PushOut: Benchmark {
    static let name = "push"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(10_000)
        var (written, confirmed): ([Double], [Double]) = ([], [])
        for _ in 0..<effort.rounds(15) {
            let todos = Todo.make(count)
            let server = PreparedServer(pushed: todos.parts(of: 1_000).map { $0.map(\.id) })
            let store = try folder.store()
            written.append(try await effort.gauge.seconds { try await store.write { try todos.insert($0) } })
            let receipt = try await store.pendingReceipt()
            confirmed.append(
                try await effort.gauge.seconds {
                    try await syncing(store, with: server) {
                        let rejections = try await store.rejections(awaiting: receipt)
                        precondition(rejections.isEmpty, "the server accepts everything")
                    }
                })
        }
        report(
            Figure(
                "push of \(count) rows, pending to confirmed", .rate(rows: count, Samples(confirmed)),
                target: Thresholds.push))
        let whole = zip(written, confirmed).map { $0 + $1 }
        report(Figure("the same with the write before it", .rate(rows: count, Samples(whole))))
    }
}
