// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistWire

/// The backend: the notes of one account. With a database, these would be tables.
actor Board {
    struct Stored {
        var row = MergeRow()
        var seq: Int64 = 0
    }

    private var tables: [String: [String: Stored]] = ["note": [:]]
    private let counters: Set = ["likes"]
    private var seq: Int64 = 0
    private var pushes: [String: Int64] = [:]

    // A push is one transaction. It is a merge, so applying it twice changes nothing.
    func apply(_ push: RemotePush) throws -> [RemotePush.Verdict] {
        guard push.number >= pushes[push.device] ?? 0 else { throw RemoteFailure.pushRewound }
        if push.rows.isEmpty { return [] }
        pushes[push.device] = push.number
        let refusals = push.rows.map { refusal(of: $0, push.origins) }
        seq += 1
        return push.rows.indices.map { index in
            let row = push.rows[index]
            if let refusal = refusals[index] { return .rejected(refusal) }
            let group = push.groups.first { $0.contains(index) } ?? index..<index
            let atFault = group.filter { refusals[$0] != nil }.map { "\(push.rows[$0].table):\(push.rows[$0].id)" }
            if atFault.isEmpty { return merge(row, push.origins) }
            return .groupFailed(by: atFault, current: current(row, push.origins))
        }
    }

    // The backend's own rules. A refusal carries the backend's row.
    private func refusal(of pushed: RemotePush.Row, _ origins: [String]) -> RemotePush.Refusal? {
        guard tables[pushed.table] != nil else {
            return RemotePush.Refusal(code: "forbidden", message: "There is no such table.")
        }
        guard pushed.patch?.values["text"]?.isNull == true else { return nil }
        return RemotePush.Refusal(
            code: "invalidProperties", column: "text", message: "A note needs a text.",
            current: current(pushed, origins))
    }

    private func merge(_ pushed: RemotePush.Row, _ origins: [String]) -> RemotePush.Verdict {
        var stored = tables[pushed.table]?[pushed.id] ?? Stored()
        let incoming = row(pushed)
        if case .update = pushed.change, incoming.generation > stored.row.generation { return .lifeUnknown }
        let outcome = stored.row.merge(incoming)
        if outcome.changedAnything { stored.seq = seq }
        tables[pushed.table]?[pushed.id] = stored
        if case .delete = pushed.change { return .accepted(seq: stored.seq) }
        if !stored.row.isAlive { return .gone(seq: stored.seq, tombstone(stored)) }
        // If the backend has a later life of the row, send all of it; otherwise the columns that won here.
        let isLater = stored.row.generation > incoming.generation
        let won = isLater ? Set(stored.row.cells.keys).union(counters) : outcome.refused.subtracting(counters)
        return won.isEmpty
            ? .accepted(seq: stored.seq) : .merged(seq: stored.seq, patch(stored, origins) { won.contains($0) })
    }

    // Complete transactions, in order. The cursor is the number of the last one.
    func page(_ request: RemotePage.Request) throws -> RemotePage {
        guard let since = Int64(request.cursor), since <= seq else { throw RemoteFailure.cursorLost }
        let changed = request.tables.flatMap { table in
            (tables[table] ?? [:]).filter { $0.value.seq > since }.map { (table: table, id: $0.key, stored: $0.value) }
        }.sorted { ($0.stored.seq, $0.id) < ($1.stored.seq, $1.id) }
        let end = changed.count > request.limit ? changed[request.limit - 1].stored.seq : seq
        let rows = changed.prefix { $0.stored.seq <= end }.map { table, id, stored in
            RemotePage.Row(
                table: table, id: id,
                content: stored.row.isAlive
                    ? .row(patch(stored, request.origins)) : .deleted(tombstone(stored)))
        }
        return RemotePage(from: request.cursor, cursor: String(end), hasMore: rows.count < changed.count, rows: rows)
    }

    // MARK: - Rows as stored and as sent

    private func row(_ pushed: RemotePush.Row) -> MergeRow {
        if case .delete(let deletion) = pushed.change {
            return MergeRow(generation: deletion.generation, deletion: deletion.clock)
        }
        var row = MergeRow(generation: pushed.patch?.generation ?? 1)
        for (column, value) in pushed.patch?.values ?? [:] {
            guard let clock = pushed.patch?.clocks?[column] else { continue }
            if counters.contains(column), case .totals(let totals) = CounterPatch(json: value) {
                for total in totals {
                    row.counters[column, default: [:]][total.origin ?? clock.device] = CounterTotal(
                        total.total, total.clock ?? clock)
                }
            } else {
                row.cells[column] = Cell(value, clock)
            }
        }
        return row
    }

    private func current(_ pushed: RemotePush.Row, _ origins: [String]) -> RowPatch? {
        guard let stored = tables[pushed.table]?[pushed.id], stored.row.isAlive else { return nil }
        return patch(stored, origins)
    }

    private func patch(
        _ stored: Stored, _ origins: [String], _ isWanted: (String) -> Bool = { _ in true }
    ) -> RowPatch {
        let (cells, totals) = (
            stored.row.cells.filter { isWanted($0.key) }, stored.row.counters.filter { isWanted($0.key) }
        )
        var clocks = cells.mapValues(\.clock)
        for (column, totals) in totals { clocks[column] = totals.values.map(\.clock).max() }
        let values = cells.map { ($0.key, $0.value.value) } + totals.keys.map { ($0, .int(stored.row.sum(of: $0))) }
        return RowPatch(
            generation: stored.row.generation, clocks: ColumnClocks(packing: clocks), seq: stored.seq,
            values: JSONObject(values.sorted { $0.0 < $1.0 }),
            mine: totals.mapValues { $0.filter { origins.contains($0.key) }.mapValues(\.total) })
    }

    private func tombstone(_ stored: Stored) -> Tombstone {
        Tombstone(generation: stored.row.generation, clock: stored.row.deletion, seq: stored.seq)
    }
}

extension RemotePush.Row {
    fileprivate var patch: RowPatch? {
        switch change {
        case .create(let patch), .update(let patch), .move(_, let patch, _): patch
        case .delete: nil
        }
    }
}

/// One device's access to the backend. Over a network, each function is a request.
struct BoardRemote: Remote {
    let board: Board

    var guarantees: RemoteGuarantees { RemoteGuarantees(pagesHaveOwnChanges: true) }
    func connect() async throws -> RemoteAccount {
        RemoteAccount(id: "board.example.org#ann", initialCursor: "0", tables: ["note"])
    }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { RemotePush.Answer(try await board.apply(push)) }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await board.page(request) }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}
