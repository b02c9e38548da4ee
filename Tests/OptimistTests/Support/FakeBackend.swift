// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist

@testable import OptimistCore
@_spi(Internals) @testable import OptimistWire

/// A small backend with snapshots, expiring deletions, backups, and a time of day that the test sets.
final class FakeBackend: Remote {
    struct Stored: Hashable {
        var row: MergeRow
        var seq: Int64
    }

    struct State {
        var epochs = [RemoteEpoch(name: "e1", firstSeq: 0)]
        var seq: Int64 = 0
        /// Earlier states are refused, because their deletions are forgotten.
        var floor: Int64 = 0
        var rows: [String: [String: Stored]] = [:]
        var lastTick = Stamp.zero
        /// The transactions of pushes.
        var pushed: Set<Int64> = []

        mutating func purge() {
            floor = seq
            for table in rows.keys { rows[table] = rows[table]?.filter { $0.value.row.isAlive } }
        }

        mutating func write(_ table: String, _ ids: [UUID], _ values: JSONObject?, at milliseconds: Int64) {
            let clock = WriteClock(stamp: Stamp(milliseconds: milliseconds), device: "OtherPhone")
            seq += 1
            for id in ids.map({ $0.uuidString.lowercased() }) {
                var stored = rows[table]?[id] ?? Stored(row: MergeRow(), seq: 0)
                let generation = stored.row.generation
                if let values {
                    stored.row.merge(
                        MergeRow(
                            generation: generation + (generation + 1) % 2,
                            cells: Dictionary(
                                uniqueKeysWithValues: values.members.map { ($0.key, Cell($0.value, clock)) })))
                } else {
                    stored.row.merge(MergeRow(generation: generation + generation % 2, deletion: clock))
                }
                stored.seq = seq
                rows[table, default: [:]][id] = stored
            }
        }
    }

    struct Settings {
        var pageRows = 3
        var hasSnapshots = true
        /// The number of requests that are still answered.
        var answers = Int.max
        /// The number of pushes that still fail.
        var pushFailures = 0
        /// Whether pushes without rows are refused.
        var refusesChecks = false
        /// Pushes with more rows are too large.
        var maxRows = Int.max
        var tables: Set<String>?
        var withheld: [String: WithheldReason] = [:]
        /// Whether pulls and snapshots answer no table and withhold none.
        var answersNothing = false
        /// Nil: the backend reports no time and accepts every clock.
        var milliseconds: (@Sendable () -> Int64)?
        var pushes: [RemotePush] = []
        var requests: [String] = []
        /// The number of calls of `connect()`.
        var connections = 0
        var pages = 0
        var guarantees = RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true)
        /// Whether cursors are opaque: a later cursor looks like an earlier one.
        var hasOpaqueCursors = false
        /// Whether pages omit the devices' own pushes.
        var leavesOutPushes = false

        func cursor(_ state: SyncState) -> String {
            hasOpaqueCursors ? "\(state.epoch).\(10_000 - state.seq)" : state.description
        }

        func state(_ cursor: String) -> SyncState? {
            SyncState(cursor).map {
                hasOpaqueCursors ? SyncState(epoch: $0.epoch, seq: 10_000 - $0.seq) : $0
            }
        }
    }

    let state = Mutex(State())
    let settings = Mutex(Settings())

    // MARK: - Used by tests

    func backup() -> State { state.withLock { $0 } }

    /// Goes back to a backup and starts a new epoch.
    func restore(_ backup: State, as epoch: String) {
        state.withLock { state in
            state = backup
            state.epochs.append(RemoteEpoch(name: epoch, firstSeq: state.seq))
        }
    }

    /// Starts a new epoch without going back.
    func restart(as epoch: String) { state.withLock { $0.epochs.append(RemoteEpoch(name: epoch, firstSeq: $0.seq)) } }

    func purge() { state.withLock { $0.purge() } }

    /// Writes as another device: some rows of a table in one transaction, or their deletion.
    func write(_ table: String, _ ids: [UUID], _ values: JSONObject?, at milliseconds: Int64 = 1_790_000_000_000) {
        state.withLock { $0.write(table, ids, values, at: milliseconds) }
    }

    /// Deletes rows as another device and forgets the deletion at once, so that no device hears of it.
    func deleteUnheard(_ table: String, _ ids: [UUID]) {
        state.withLock { state in
            state.write(table, ids, nil, at: 1_790_000_000_000)
            state.purge()
        }
    }

    /// The living rows of a table, without nulls.
    func rows(_ table: String) -> [String: JSONObject] {
        state.withLock { state in
            (state.rows[table] ?? [:]).filter(\.value.row.isAlive).mapValues { stored in
                JSONObject(
                    stored.row.cells.filter { !$0.value.value.isNull }.sorted { $0.key < $1.key }
                        .map { ($0.key, $0.value.value) })
            }
        }
    }

    func row(_ table: String, _ id: UUID) -> MergeRow? {
        state.withLock { $0.rows[table]?[id.uuidString.lowercased()]?.row }
    }

    /// The state that merging concerns: living rows with their clocks, without nulls, and the times of deletions.
    var essence: [String: [String: MergeRow]] {
        state.withLock { state in
            state.rows.mapValues { rows in
                rows.mapValues { stored in
                    let cells = stored.row.isAlive ? stored.row.cells.filter { !$0.value.value.isNull } : [:]
                    return MergeRow(
                        generation: stored.row.generation, cells: cells, deletion: stored.row.deletion)
                }
            }
        }
    }

    var requests: [String] { settings.withLock { $0.requests } }
    var pushes: [RemotePush] { settings.withLock { $0.pushes } }
    var pages: Int { settings.withLock { $0.pages } }

    // MARK: - Used by devices

    private func cross(_ request: String) throws -> Settings {
        let settings = settings.withLock { settings in
            settings.requests.append(request)
            defer { settings.answers -= 1 }
            return settings
        }
        if settings.answers <= 0 { throw RemoteFailure.unreachable("cut") }
        return settings
    }

    var guarantees: RemoteGuarantees { settings.withLock { $0.guarantees } }

    func connect() async throws -> RemoteAccount {
        settings.withLock { $0.connections += 1 }
        // Long enough for concurrent calls to arrive.
        for _ in 0..<100 { await Task.yield() }
        return settings.withLock { settings in
            RemoteAccount(
                id: "fake#1", initialCursor: settings.cursor(SyncState(epoch: "e1", seq: 0)), tables: settings.tables)
        }
    }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        let settings = try cross("push")
        if settings.refusesChecks, push.rows.isEmpty { throw RemoteFailure.refused("no rows") }
        if push.rows.count > settings.maxRows { throw RemoteFailure.tooLarge(isProtocolLimit: true) }
        if settings.pushFailures > 0 {
            self.settings.withLock { $0.pushFailures -= 1 }
            throw RemoteFailure.unreachable("push")
        }
        self.settings.withLock { $0.pushes.append(push) }
        return state.withLock { state in
            let seq = state.seq + 1
            var answer = RemotePush.Answer(
                push.rows.map { row in
                    if settings.withheld[row.table] != nil { return .retry(after: nil) }
                    return Self.merge(row, seq, now: settings.milliseconds?(), &state)
                })
            if state.rows.values.contains(where: { $0.values.contains { $0.seq == seq } }) {
                state.seq = seq
                state.pushed.insert(seq)
            }
            answer.withheld = settings.withheld.filter { table, _ in push.rows.contains { $0.table == table } }
            answer.epoch = state.epochs.last?.name
            answer.serverTime = settings.milliseconds.map { Date(timeIntervalSince1970: Double($0()) / 1000) }
            return answer
        }
    }

    private static func merge(_ pushed: RemotePush.Row, _ seq: Int64, now: Int64?, _ state: inout State)
        -> RemotePush.Verdict
    {
        let known = state.rows[pushed.table]?[pushed.id]
        if case .update = pushed.change, known == nil { return .gone(seq: state.seq) }
        var stored = known ?? Stored(row: MergeRow(), seq: 0)
        var reined: Set<String> = []
        let incoming = incoming(pushed.change) { column, clock in
            guard let now, clock.stamp.milliseconds > now + 60_000 else { return clock }
            reined.insert(column)
            state.lastTick = max(state.lastTick.successor, Stamp(milliseconds: now))
            return WriteClock(stamp: state.lastTick, device: clock.device)
        }
        if stored.row.generation > incoming.generation { return .gone(seq: state.seq) }
        let outcome = stored.row.merge(incoming)
        if outcome.changedAnything { stored.seq = seq }
        state.rows[pushed.table, default: [:]][pushed.id] = stored
        let told = stored.row.cells.filter { outcome.refused.contains($0.key) || reined.contains($0.key) }
        if told.isEmpty { return .accepted(seq: stored.seq) }
        return .merged(
            seq: stored.seq,
            RowPatch(
                generation: stored.row.generation, clocks: ColumnClocks(packing: told.mapValues(\.clock)),
                values: JSONObject(told.sorted { $0.key < $1.key }.map { ($0.key, $0.value.value) })))
    }

    private static func incoming(_ change: RemotePush.Row.Change, _ rein: (String, WriteClock) -> WriteClock)
        -> MergeRow
    {
        switch change {
        case .delete(let tombstone):
            return MergeRow(generation: tombstone.generation, deletion: tombstone.clock.map { rein("", $0) })
        case .create(let patch), .update(let patch), .move(_, let patch, _):
            var cells: [String: Cell] = [:]
            for (name, value) in patch.values {
                if let clock = patch.clocks?[name] { cells[name] = Cell(value, rein(name, clock)) }
            }
            return MergeRow(generation: patch.generation ?? 1, cells: cells)
        }
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        let settings = try cross("pull \(request.tables.joined(separator: " "))")
        return try state.withLock { state in
            let tables = request.tables.filter { settings.withheld[$0] == nil }
            let withheld = settings.withheld.filter { request.tables.contains($0.key) }
            if tables.isEmpty || settings.answersNothing { throw RemoteFailure.withheld(withheld) }
            let (since, epochs) = try Self.check(settings.state(request.cursor), state)
            let changed = tables.flatMap { table in
                (state.rows[table] ?? [:]).filter {
                    $0.value.seq > since && !(settings.leavesOutPushes && state.pushed.contains($0.value.seq))
                }
                .map { (table, $0.key, $0.value) }
            }.sorted { ($0.2.seq, $0.1) < ($1.2.seq, $1.1) }
            let limit = settings.pageRows
            let end = changed.count > limit ? changed[limit - 1].2.seq : state.seq
            var page = RemotePage(
                from: request.cursor,
                cursor: settings.cursor(SyncState(epoch: state.epochs.last?.name ?? "", seq: end)),
                hasMore: end < state.seq,
                rows: changed.filter { $0.2.seq <= end }.map { Self.pageRow($0.0, $0.1, $0.2) })
            page.epochs = epochs
            self.settings.withLock { $0.pages += 1 }
            page.withheld = withheld
            page.serverTime = settings.milliseconds.map { Date(timeIntervalSince1970: Double($0()) / 1000) }
            return page
        }
    }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        let settings = try cross("snapshot \(request.table) \(request.after == nil ? "begin" : "on")")
        guard settings.hasSnapshots else { throw RemoteFailure.noSnapshots }
        if settings.answersNothing { throw RemoteFailure.withheld([:]) }
        if let reason = settings.withheld[request.table] { throw RemoteFailure.withheld([request.table: reason]) }
        return try state.withLock { state in
            let at =
                request.at ?? settings.cursor(SyncState(epoch: state.epochs.last?.name ?? "", seq: state.seq))
            let (_, epochs) = try Self.check(settings.state(at), state)
            let rows = (state.rows[request.table] ?? [:]).filter { $0.value.row.isAlive }.sorted { $0.key < $1.key }
            let rest = rows.filter { $0.key > request.after ?? "" }
            let part = rest.prefix(settings.pageRows)
            var page = RemoteSnapshot(
                at: at, rows: part.map { Self.pageRow(request.table, $0.key, $0.value) },
                next: part.count < rest.count ? part.last?.key : nil)
            page.total = rows.count
            page.epochs = epochs
            page.serverTime = settings.milliseconds.map { Date(timeIntervalSince1970: Double($0()) / 1000) }
            return page
        }
    }

    /// The seq of a valid cursor, and the epochs if the cursor is from a former epoch.
    private static func check(_ cursor: SyncState?, _ state: State) throws -> (Int64, [RemoteEpoch]) {
        guard let since = cursor else { throw RemoteFailure.cursorLost }
        if since.seq < state.floor, since.seq > 0 { throw RemoteFailure.cursorLost }
        guard let index = state.epochs.firstIndex(where: { $0.name == since.epoch }) else {
            throw RemoteFailure.forked(state.epochs)
        }
        if index == state.epochs.count - 1 { return (since.seq, []) }
        if since.seq > state.epochs[index + 1].firstSeq { throw RemoteFailure.forked(state.epochs) }
        return (since.seq, state.epochs)
    }

    private static func pageRow(_ table: String, _ id: String, _ stored: Stored) -> RemotePage.Row {
        guard stored.row.isAlive else {
            return RemotePage.Row(
                table: table, id: id,
                content: .deleted(
                    Tombstone(generation: stored.row.generation, clock: stored.row.deletion, seq: stored.seq)))
        }
        return RemotePage.Row(
            table: table, id: id,
            content: .row(
                RowPatch(
                    generation: stored.row.generation,
                    clocks: ColumnClocks(packing: stored.row.cells.mapValues(\.clock)), seq: stored.seq,
                    values: JSONObject(stored.row.cells.sorted { $0.key < $1.key }.map { ($0.key, $0.value.value) }))))
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}
