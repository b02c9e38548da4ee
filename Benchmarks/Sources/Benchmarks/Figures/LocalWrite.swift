// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist

/// One row in its own transaction, the cost of a tap on "Add".
struct LocalWrite: Benchmark {
    static let name = "local-write"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        for (durability, word) in [(Store.Durability.full, "FULL"), (.normal, "NORMAL")] {
            let store = try folder.store(durability: durability)
            let plain = try folder.plain(durability: durability)
            let writes = effort.rows(200)
            let pair = try await Paired(
                rounds: effort.rounds(40),
                subject: {
                    try await times(writes) { todo in try await store.write { try todo.insert($0) } }
                },
                rival: {
                    try await times(writes) { todo in try await plain.write { try todo.insert($0) } }
                })
            report(Figure("local write, one row, \(word)", pair, rival: "GRDB", target: Thresholds.localWrite))
        }
    }

    private func times(_ count: Int, _ write: (Todo) async throws -> Void) async throws -> [Double] {
        var times: [Double] = []
        for todo in Todo.make(count) { times.append(try await effort.gauge.seconds { try await write(todo) }) }
        return times
    }
}
