// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistWire

/// A backend without clocks: the last value stored wins.
actor ClocklessBoard {
    enum Fault { case appliesRepetitions, sendsClocks }

    struct Stored {
        var generation = 0
        var values: [String: JSON] = [:]
        var likes: [String: Int64] = [:]
        var clocks: ColumnClocks?
        var seq: Int64 = 0
    }

    private var notes: [String: Stored] = [:]
    private var seq: Int64 = 0
    /// Each device's last push and its answer.
    private var pushes: [String: (number: Int64, verdicts: [RemotePush.Verdict])] = [:]
    private let fault: Fault?

    init(_ fault: Fault? = nil) { self.fault = fault }

    func apply(_ push: RemotePush) throws -> [RemotePush.Verdict] {
        let last = pushes[push.device]
        guard push.number >= last?.number ?? 0 else { throw RemoteFailure.pushRewound }
        if push.rows.isEmpty { return [] }
        if let last, last.number == push.number, fault != .appliesRepetitions { return last.verdicts }
        seq += 1
        let verdicts = push.rows.map { apply($0, push.origins) }
        pushes[push.device] = (push.number, verdicts)
        return verdicts
    }

    private func apply(_ pushed: RemotePush.Row, _ origins: [String]) -> RemotePush.Verdict {
        var stored = notes[pushed.id] ?? Stored()
        let life =
            switch pushed.change {
            case .create(let patch), .update(let patch), .move(_, let patch, _): patch.generation ?? 1
            case .delete(let tombstone): tombstone.generation
            }
        if life < stored.generation {
            if case .delete = pushed.change { return .accepted(seq: stored.seq) }
            return stored.generation % 2 == 0
                ? .gone(seq: stored.seq) : .merged(seq: stored.seq, patch(stored, origins))
        }
        if life > stored.generation { stored = Stored(generation: life) }
        stored.seq = seq
        if case .create(let patch) = pushed.change { take(patch, &stored, origins) }
        if case .update(let patch) = pushed.change { take(patch, &stored, origins) }
        notes[pushed.id] = stored
        return .accepted(seq: seq)
    }

    private func take(_ patch: RowPatch, _ stored: inout Stored, _ origins: [String]) {
        if fault == .sendsClocks { stored.clocks = patch.clocks }
        for (column, value) in patch.values {
            if column == "likes", case .totals(let totals) = CounterPatch(json: value) {
                for total in totals { stored.likes[total.origin ?? origins[0]] = total.total }
            } else {
                stored.values[column] = value
            }
        }
    }

    private func patch(_ stored: Stored, _ origins: [String]) -> RowPatch {
        var values = stored.values.map { ($0.key, $0.value) }
        if !stored.likes.isEmpty { values.append(("likes", .int(stored.likes.values.reduce(0, +)))) }
        return RowPatch(
            generation: stored.generation, clocks: stored.clocks, seq: stored.seq,
            values: JSONObject(values.sorted { $0.0 < $1.0 }),
            mine: ["likes": stored.likes.filter { origins.contains($0.key) }])
    }

    func page(_ request: RemotePage.Request) throws -> RemotePage {
        guard let since = Int64(request.cursor) else { throw RemoteFailure.cursorLost }
        let changed = notes.filter { $0.value.seq > since }.sorted { ($0.value.seq, $0.key) < ($1.value.seq, $1.key) }
        let end = changed.count > request.limit ? changed[request.limit - 1].value.seq : seq
        let rows = changed.prefix { $0.value.seq <= end }.map { id, stored in
            RemotePage.Row(
                table: "note", id: id,
                content: stored.generation % 2 == 1
                    ? .row(patch(stored, request.origins))
                    : .deleted(Tombstone(generation: stored.generation, clock: nil, seq: stored.seq)))
        }
        return RemotePage(from: request.cursor, cursor: String(end), hasMore: rows.count < changed.count, rows: rows)
    }
}

struct ClocklessRemote: Remote {
    let board: ClocklessBoard

    var guarantees: RemoteGuarantees { RemoteGuarantees(pagesHaveOwnChanges: true) }
    func connect() async throws -> RemoteAccount { RemoteAccount(id: "board", initialCursor: "0", tables: ["note"]) }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { RemotePush.Answer(try await board.apply(push)) }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await board.page(request) }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}
