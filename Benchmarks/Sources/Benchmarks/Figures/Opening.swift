// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist

/// Opening a file with many pending rows, and counting them.
struct Opening: Benchmark {
    static let name = "opening"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        for count in [effort.rows(100_000), effort.rows(1_000_000)] {
            let file = folder.file()
            try await fill(try folder.store(at: file), with: count)
            try folder.checkpoint(file)
            var (opening, counting): ([Double], [Double]) = ([], [])
            for _ in 0..<effort.rounds(15) {
                var opened: Store?
                opening.append(try await effort.gauge.seconds { opened = try folder.store(at: file) })
                counting.append(
                    try await effort.gauge.seconds {
                        let pending = try await opened?.counts().pending
                        precondition(pending == count, "\(pending ?? 0) of \(count) rows are pending")
                    })
            }
            report(Figure("open with \(count) pending rows", .time(Samples(opening)), target: Thresholds.opening))
            report(Figure("count \(count) pending rows", .time(Samples(counting))))
        }
    }

    private func fill(_ store: Store, with count: Int) async throws {
        for part in stride(from: 0, to: count, by: 50_000) {
            let todos = Todo.make(min(50_000, count - part))
            try await store.write { try todos.insertBySQL($0) }
        }
    }
}
