// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist

/// The time from the start of a commit until an observer receives the new result of a query of 100 rows.
struct Delivery: Benchmark {
    static let name = "delivery"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let todos = Todo.make(100)
        let (store, plain) = (try folder.store(), try folder.plain())
        try await store.write { try todos.insert($0) }
        try await plain.write { try todos.insert($0) }
        let ours = Watch(store.observe { try Todo.order(Column("id")).fetchAll($0) }.map { try $0.get() })
        let theirs = Watch(ValueObservation.tracking { try Todo.order(Column("id")).fetchAll($0) }.values(in: plain))
        let writes = effort.rows(100)
        let pair = try await Paired(
            rounds: effort.rounds(30),
            subject: {
                try await ours.times(writes) { change in try await store.write(change) }
            },
            rival: {
                try await theirs.times(writes) { change in try await plain.write(change) }
            })
        report(
            Figure("commit to live query, 100 rows", pair, rival: "ValueObservation", target: Thresholds.delivery))
    }
}
